"""Documents in, rows out: everything between a plan and a committed part. See README.md.

What is public is imported when it is first asked for: commands that process nothing do not wait for tables and kernels.
"""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline import (
        answer,
        atrest,
        backup,
        bench,
        cluster,
        control,
        document,
        forecast,
        heads,
        inbox,
        index,
        keep,
        kernel,
        learn,
        outbox,
        pages,
        parse,
        paths,
        plan,
        proof,
        quality,
        records,
        report,
        rerun,
        review,
        stages,
        states,
        tasks,
        version,
        view,
    )
    from pipeline.atrest.files import rewrap
    from pipeline.backup.making import back_up
    from pipeline.backup.restoring import restore
    from pipeline.control.admit import admit, revoke
    from pipeline.control.compare import compare
    from pipeline.errors import BadPartError, DocumentError, Failure, MachineRefusedError, ModelRefusedError
    from pipeline.forecast import outlook
    from pipeline.inbox.discover import scan
    from pipeline.keep.erasure import erase
    from pipeline.keep.holds import hold, holds, release
    from pipeline.learn.learning import learn_head
    from pipeline.outbox.results import results
    from pipeline.outbox.running import running
    from pipeline.parse import Limits
    from pipeline.plan import Input, ModelRef, RunPlan, Site
    from pipeline.proof.choose import Choice
    from pipeline.proof.export.folder import export
    from pipeline.proof.replay import replay
    from pipeline.proof.search import recall, search
    from pipeline.proof.status import status
    from pipeline.proof.story import story
    from pipeline.proof.verify import verify
    from pipeline.quality.qualify import qualify
    from pipeline.report import RunReport
    from pipeline.review.deciding import Review, decide
    from pipeline.run import run
    from pipeline.states import State
    from pipeline.tasks import TASKS

__getattr__, __dir__ = surface(__name__, __file__)
