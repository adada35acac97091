"""21 CFR Part 11: electronic records under the rules of the Food and Drug Administration."""

from jobs.controls.base import Control, Rule

RULE = Rule(
    "21 CFR 11.10(e), electronic records (FDA)",
    "Code of Federal Regulations, title 21, part 11, section 11.10, paragraph (e)",
    "The other paragraphs of section 11.10, and those on electronic signatures (11.50 to 11.300).",
    (
        Control(
            "11.10(e), first sentence",
            "A secure audit trail, made by the computer and with time stamps, records by itself when operators enter "
            "something, and what creates, changes or deletes a record.",
            ("append-only", "time", "who", "decisions", "deletion"),
            "Clocks are set and watched; each operator has a user of their own.",
        ),
        Control(
            "11.10(e), second sentence",
            "A change does not hide what was recorded before.",
            ("supersedes", "append-only", "verified"),
            "Nobody who may change the log's files also keeps the checkpoints that would show it.",
        ),
        Control(
            "11.10(e), third sentence",
            "The audit trail is kept at least as long as the records, and is there for the agency to review and copy.",
            ("log-kept", "export", "backup"),
            "The retention period of the records is known, and audit/ is backed up for as long.",
        ),
    ),
)
