"""GDPR: principles, erasure, and records of processing."""

from jobs.controls.base import Control, Rule

RULE = Rule(
    "GDPR 5, 17 and 30, personal data",
    "Regulation (EU) 2016/679, articles 5, 17 and 30",
    "All other articles, such as the rights to access (15) and to rectification (16), processors (28) and security "
    "(32).",
    (
        Control(
            "5(1)(a)",
            "Data are processed lawfully, fairly, and so that the people concerned can understand it.",
            ("jobs", "provenance"),
            "The legal ground of each job is found and written down, and the people concerned are told: no program "
            "does that.",
        ),
        Control(
            "5(1)(b)",
            "Data are processed for the purposes for which they were collected, and for no others.",
            ("jobs", "silence"),
            "The purpose of each job is written down, and the documents in its folder came for it.",
        ),
        Control(
            "5(1)(c)",
            "No more data than the purpose needs.",
            ("private", "telling"),
            "The folder of a job gets the documents that its question needs, and no others.",
        ),
        Control(
            "5(1)(d)",
            "Data are accurate, and what is inaccurate is corrected or erased.",
            ("quality", "decisions", "review"),
            "Somebody reviews what the model was not sure of, and samples of the rest.",
        ),
        Control(
            "5(1)(e)",
            "Data are kept no longer than the purpose needs.",
            ("retention", "deletion", "private"),
            "The period is decided for each job; backups and tables that were taken away follow it too. No rule "
            "shortens the log: names of files stay in it, unless the job is private.",
        ),
        Control(
            "5(1)(f)",
            "Data are protected from unauthorized use, loss, destruction and damage.",
            ("rights", "silence", "isolation", "encryption", "crash-safe", "access", "backup"),
            "The machine, its users and its disks are kept as the site's rules demand.",
        ),
        Control(
            "5(2)",
            "Whoever is responsible can show all this.",
            ("append-only", "verified", "export", "controls"),
            "This matrix is read, and its gaps are decided on.",
        ),
        Control(
            "17",
            "Data are erased on request, unless a law demands that they are kept.",
            ("deletion", "private", "holds", "encryption"),
            "Requests are judged by a person; backups are let run out, unless an erasure destroys their keys; whoever "
            "got the data is told.",
        ),
        Control(
            "30",
            "There is a record of processing: purposes, kinds of data, recipients, periods, protection.",
            ("jobs", "retention", "controls"),
            "The record names the controller, the purposes and the people concerned, which no job file knows.",
        ),
    ),
)
