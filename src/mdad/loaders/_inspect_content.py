"""What a sample of Inspect says, as a hash: the same in every form of its logs.

Needs nothing but the standard library: its source is written into the snippets that
:mod:`mdad.exporters` makes.
"""

import hashlib
import json
from typing import Any

CUT = 5120
"""Characters of a text that count: summaries in Inspect's logs hold no more of it."""


def content_hash(text: Any, choices: Any, target: Any) -> str:
    """Hash of what a sample says; 32 hex digits.

    Choices in another order, with the target moved along, are the same sample.

    Parameters
    ----------
    text : the sample's input, a text or a list of messages
    choices : the options, or None
    target : the right answer; a letter means one of the choices
    """
    options = [str(choice) for choice in choices or ()]
    answers = [
        options[ord(answer) - ord("A")]
        if len(answer) == 1 and 0 <= ord(answer) - ord("A") < len(options)
        else answer
        for answer in map(str, target if isinstance(target, list) else [target])
    ]
    content = plain_text(text), sorted(options), [answer[:CUT] for answer in answers]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


def plain_text(text: Any) -> Any:
    """A text, or messages with nothing but role and text; other parts by their kind."""
    if not isinstance(text, list):
        return str(text)[:CUT]
    found = []
    for message in text:
        whole = message if isinstance(message, dict) else {"content": message}
        parts = whole.get("content")
        for part in parts if isinstance(parts, list) else [parts]:
            kind = part.get("type", "text") if isinstance(part, dict) else "text"
            said = part.get("text") if isinstance(part, dict) else part
            shown = str(said)[:CUT] if kind == "text" else f"({str(kind).capitalize()})"
            found.append([whole.get("role"), shown])
    return found
