"""Print the first two commands of the README, one a line."""

import re
import sys
from pathlib import Path

WANTED = 2

text = Path(sys.argv[1]).read_text(encoding="utf-8")
blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
commands = [line for block in blocks for line in block.splitlines() if line.strip()]
if len(commands) < WANTED:
    sys.exit("README.md must begin with two commands")
sys.stdout.write("\n".join(commands[:WANTED]) + "\n")
