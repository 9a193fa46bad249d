# The reference daemon in an image without a base: one static program that scripts/release.sh built,
# and the folders in which it may write. TARGETARCH is set by BuildKit.
#
#   scripts/release.sh 0.1.0 && docker build -t evalctl .
#
# The keys file is in the volume: beyond loopback the daemon listens with keys only.
#
#   docker run --rm -v evalctl:/data evalctl \
#     keys create --file /data/keys.yaml --name ci --tenant acme --role writer
#   docker run -d -p 8787:8787 -v evalctl:/data evalctl
#
# The roots of trust for https models are in the program. SSL_CERT_FILE names a file of others.
FROM scratch
ARG TARGETARCH
COPY dist/linux_${TARGETARCH}/evalctl /evalctl
COPY --chown=65532:65532 dist/root/ /
ENV HOME=/data SVC_ADDR=0.0.0.0:8787 SVC_HOME=/data/brains
WORKDIR /data
VOLUME /data
EXPOSE 8787
USER 65532:65532
HEALTHCHECK --interval=30s --timeout=30s --start-period=30s CMD ["/evalctl", "health"]
ENTRYPOINT ["/evalctl"]
CMD ["serve", "--keys", "/data/keys.yaml"]
