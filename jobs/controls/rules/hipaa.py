"""HIPAA: the technical safeguards of the Security Rule that concern records."""

from jobs.controls.base import Control, Rule

RULE = Rule(
    "HIPAA 164.312(b) and (c), technical safeguards",
    "Code of Federal Regulations, title 45, section 164.312, paragraphs (b), (c)(1) and (c)(2)",
    "The other safeguards of the Security Rule, such as access control (a), authentication (d) and transmission (e).",
    (
        Control(
            "164.312(b)",
            "Mechanisms record and examine what happens in systems that hold or use electronic health information.",
            ("append-only", "reading", "access", "search", "verified"),
            "Somebody looks at what was recorded, on set days, and writes down what they did about it.",
        ),
        Control(
            "164.312(c)(1)",
            "Electronic health information is protected from improper change and destruction.",
            ("rights", "isolation", "crash-safe", "encryption", "backup", "holds"),
            "Only the service's user and those whom a table of roles names may write in the workspace.",
        ),
        Control(
            "164.312(c)(2)",
            "A mechanism confirms that the information was not changed or destroyed in an unauthorized way "
            "(addressable).",
            ("verified", "provenance", "witnessed"),
            "Checkpoints lie where the keeper of the log cannot change them.",
        ),
    ),
)
