"""SEC Rule 17a-4(f): electronic recordkeeping of brokers and dealers."""

from jobs.controls.base import Control, Rule

RULE = Rule(
    "SEC 17a-4(f), electronic recordkeeping",
    "Code of Federal Regulations, title 17, section 240.17a-4, paragraph (f), as amended in 2022",
    "(f)(2)(iii), serial numbers of storage media, where they apply; of (f)(3) all but (v): facilities and people by "
    "which the firm shows records to the regulator.",
    (
        Control(
            "(f)(2)(i)(A)",
            "A complete audit trail with time stamps has every change and deletion of a record, when, by whom, and "
            "what else is needed to make the original again. (The other way, (B), is storage that cannot be rewritten: "
            "the product does not provide it.)",
            ("append-only", "time", "who", "supersedes", "archive"),
            "The archive is kept for the period that the rule sets for each record.",
        ),
        Control(
            "(f)(2)(ii)",
            "The system verifies by itself that records are stored completely and accurately.",
            ("crash-safe", "verified", "replay"),
            "`audit verify` runs on set days, and somebody is called when it finds something.",
        ),
        Control(
            "(f)(2)(iv)",
            "Records and their audit trail can be downloaded and handed over, for people to read and for programs.",
            ("export", "search"),
            "Whoever has to hand them over knows the command, and has tried it.",
        ),
        Control(
            "(f)(2)(v)",
            "A second system has the records when the first one fails, or there is other redundancy.",
            ("backup",),
            "The backup lies on another machine, and was restored once to see that it works.",
        ),
        Control(
            "(f)(3)(v)",
            "An officer or a third party can give the regulator access, and has undertaken to.",
            ("export", "keys"),
            "The undertaking is the firm's; the product only gives what it promises.",
        ),
    ),
)
