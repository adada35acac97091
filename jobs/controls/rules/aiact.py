"""EU AI Act: logs of high-risk systems, and what their deployers do."""

from jobs.controls.base import Control, Rule

RULE = Rule(
    "EU AI Act 12, 19 and 26, high-risk systems",
    "Regulation (EU) 2024/1689, articles 12, 19 and 26; whether a use is high-risk is for the site to find out",
    "12(3), which is for remote biometric identification; 19(2); 26(3) and 26(7) to 26(12), which ask for nothing that "
    "a program records, such as that workers and other people are told. Articles 8 to 15 ask more of providers.",
    (
        Control(
            "12(1)",
            "Events are recorded automatically over the lifetime of the system.",
            ("append-only", "provenance"),
            "Whether the use of a job is high-risk is decided, and written down.",
        ),
        Control(
            "12(2)",
            "The log shows what may lead to a risk or a substantial change, and lets providers and deployers watch the "
            "system in use.",
            ("models", "settings", "drift", "recall"),
            "Somebody judges what a new model or another setting means.",
        ),
        Control(
            "19(1)",
            "Providers keep the logs that they control for a period that fits the purpose, at least six months.",
            ("log-kept", "backup"),
            "The period is decided; audit/ is never deleted before.",
        ),
        Control(
            "26(1)",
            "The system is used by its instructions.",
            ("jobs", "models"),
            "OPERATING.md is followed, and whoever runs the nights has read it.",
        ),
        Control(
            "26(2)",
            "People with competence, training and authority oversee it.",
            ("review", "decisions", "access"),
            "The people are named, trained, and may stop a job.",
        ),
        Control(
            "26(4)",
            "Input data are relevant and sufficiently representative.",
            ("quality", "drift"),
            "The examples that a job was measured on look like the documents that it gets.",
        ),
        Control(
            "26(5)",
            "Operation is monitored; on risks and serious incidents use is suspended and told.",
            ("calling", "drift", "recall"),
            "Who is told, and by when, is decided.",
        ),
        Control(
            "26(6)",
            "Deployers keep the logs that they control, at least six months.",
            ("log-kept", "backup", "verified"),
            "The period is decided; audit/ is never deleted before.",
        ),
    ),
)
