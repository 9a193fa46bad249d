# Passes every answer, with a reason that a spreadsheet would run.
read -r handshake
echo '{"protocol": 1, "name": "formulas", "version": "1", "needs": []}'
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/^{"id":\([0-9]*\),.*/\1/')
  echo "{\"id\": $id, \"score\": 0.5, \"reason\": \"=cmd|' /C calc'!A0\"}"
done
