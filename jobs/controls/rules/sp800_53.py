"""NIST SP 800-53: the family of audit and accountability."""

from jobs.controls.base import Control, Rule

RULE = Rule(
    "NIST SP 800-53 AU-2 to AU-12, audit and accountability",
    "NIST Special Publication 800-53, revision 5, controls AU-2 to AU-12",
    "AU-1 (policy), AU-13, AU-14 and AU-16, and the enhancements of all controls, such as AU-9(2).",
    (
        Control(
            "AU-2",
            "It is decided which events are logged.",
            ("append-only", "reading"),
            "The list of types (pipeline/records/README.md) is read, and accepted or added to by other logs.",
        ),
        Control(
            "AU-3",
            "A record says what happened, when, where, by which source, how it ended, and who was concerned.",
            ("provenance", "time", "who"),
            "Users of the operating system are persons or services, and never shared.",
        ),
        Control(
            "AU-4",
            "There is room for the log.",
            ("capacity", "backup"),
            "The disk is watched.",
        ),
        Control(
            "AU-5",
            "When logging fails, people are told, and what is set to happen does.",
            ("fail-stop", "calling"),
            "The command of `notify` reaches somebody at night.",
        ),
        Control(
            "AU-6",
            "Records are reviewed, analysed and reported.",
            ("verified", "search", "drift", "review"),
            "The reviews take place on set days.",
        ),
        Control(
            "AU-7",
            "Records can be reduced and reported without changing them.",
            ("search", "export"),
            "Nothing is left to the site.",
        ),
        Control(
            "AU-8",
            "Time stamps come from the system's clock, in UTC or with an offset.",
            ("time",),
            "The clock follows a source of time inside the building.",
        ),
        Control(
            "AU-9",
            "The log is protected from reading, changing and deleting by those who may not, and people are told when "
            "that happened.",
            ("rights", "verified", "keys", "witnessed", "access", "calling"),
            "The key holder is another person than the operator; checkpoints lie elsewhere.",
        ),
        Control(
            "AU-10",
            "Nobody can deny what they did.",
            ("decisions", "who", "keys"),
            "Each person signs in as themselves; the product's own signature is one key for all.",
        ),
        Control(
            "AU-11",
            "Records are kept for the set period.",
            ("log-kept", "backup"),
            "The period is decided.",
        ),
        Control(
            "AU-12",
            "Records are made where the events happen, for all parts of the system.",
            ("append-only", "handed", "fail-stop"),
            "Other programs on the machine keep their own logs. Which types are recorded cannot be chosen: all always "
            "are.",
        ),
    ),
)
