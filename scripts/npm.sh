# To be sourced: install installs the packages of a lock file, unless the cache has them, and sets
# $modules: install FOLDER. It needs limits.sh.
install() {
  local dir cache=${XDG_CACHE_HOME:-$HOME/.cache}/evalctl/npm
  begin "the packages from npm, of $PWD/$1"
  dir=$cache/$(cat "$1/package.json" "$1/package-lock.json" | cksum | tr ' ' -)
  if [ ! -e "$dir/installed" ]; then
    rm -rf "$dir"
    mkdir -p "$dir"
    cp "$1/package.json" "$1/package-lock.json" "$dir"
    (cd "$dir" && installing 300 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error \
      --fetch-retries=3 --fetch-retry-factor=2 --fetch-retry-mintimeout=1000)
    touch "$dir/installed"
  fi
  modules=$dir/node_modules
}
