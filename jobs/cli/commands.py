"""The table of commands: name -> the file in this folder and the function in it, with a point between.

Only the one that is asked for is loaded, so that a command begins at once.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Group(NamedTuple):
    """A group of commands: what its help says, or the command that it is by itself; and those in it."""

    help: str | None
    own: str | None
    commands: "Mapping[str, str | Group]"


COMMANDS: Mapping[str, str | Group] = {
    "init": "init.init",
    "new": "new.new",
    "check": "check.check",
    "plan": "plan.plan",
    "run": "run.run",
    "retry": "retry.retry",
    "rerun": "rerun.rerun",
    "serve": "serve.serve",
    "status": "status.status",
    "doctor": "doctor.doctor",
    "results": "results.results",
    "learn": "learn.learn",
    "qualify": "qualify.qualify",
    "bench": "bench.bench",
    "backup": "backup.backup",
    "restore": "restore.restore",
    "worker": "worker.worker",
    "cluster": Group(
        "Other machines that read and answer: start workers, see who works.",
        None,
        {
            "up": "cluster_up.up",
            "down": "cluster_down.down",
            "status": "cluster_status.status",
            "scheduler": "cluster_scheduler.scheduler",
            "credential": "cluster_credential.credential",
        },
    ),
    "model": Group(
        "Model files and heads: bring them in, list and compare them, and say which may be used.",
        None,
        {
            "import": "model_import.import_",
            "quantize": "model_quantize.quantize",
            "inspect": "model_inspect.inspect",
            "list": "model_list.list_",
            "admit": "model_admit.admit",
            "revoke": "model_revoke.revoke",
            "verify": "model_verify.verify",
            "diff": "model_diff.diff",
            "rollback": "model_rollback.rollback",
        },
    ),
    "bundle": Group(
        "Cloister itself, carried on a disk: make a bundle, check it, install it, and go back to the version before.",
        None,
        {
            "create": "bundle_create.create",
            "diff": "bundle_diff.diff",
            "verify": "bundle_verify.verify",
            "install": "bundle_install.install",
            "rollback": "bundle_rollback.rollback",
            "list": "bundle_list.list_",
            "remove": "bundle_remove.remove",
        },
    ),
    "review": Group(
        "Rows that people look at: list them, and decide on them, with your name in the log.",
        None,
        {
            "list": "review_list.list_",
            "show": "review_show.show",
            "accept": "review_accept.accept",
            "correct": "review_correct.correct",
            "reject": "review_reject.reject",
            "sample": "review_sample.sample",
            "export": "review_export.export",
            "import": "review_import.import_",
        },
    ),
    "console": Group(
        None,
        "console.console",
        {"invite": "console_invite.invite", "people": "console_people.people", "revoke": "console_revoke.revoke"},
    ),
    "encryption": Group(
        "Encryption of what is kept of documents: make its key, replace it, write a clear copy of a file.",
        None,
        {
            "new": "encryption_new.new",
            "rewrap": "encryption_rewrap.rewrap",
            "decrypt": "encryption_decrypt.decrypt",
        },
    ),
    "audit": Group(
        "The audit log: what it says, and whether it can be trusted.",
        None,
        {
            "verify": "audit_verify.verify",
            "show": "audit_show.show",
            "search": "audit_search.search",
            "recall": "audit_recall.recall",
            "replay": "audit_replay.replay",
            "hold": "audit_hold.hold",
            "release": "audit_release.release",
            "export": "audit_export.export",
            "erase": "audit_erase.erase",
            "prove": "audit_prove.prove",
            "check": "audit_check.check",
            "controls": "audit_controls.controls",
            "key": Group(
                "The key that signs the log: new, show, rotate.",
                None,
                {"new": "audit_key_new.new", "show": "audit_key_show.show", "rotate": "audit_key_rotate.rotate"},
            ),
            "witness": Group(None, "audit_witness.witness", {"cosign": "audit_cosign.cosign"}),
        },
    ),
}
