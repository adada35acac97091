"""A look at who is listed at a scheduler, and whether a run from here would take them."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import engine
from pipeline.cluster.calls import Calls
from pipeline.cluster.errors import BadWorkerError, ClusterError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.identity import Identity, check_worker, own_identity, parse_identity
from pipeline.cluster.peers import HEAD_ROLE, Credential, read_credential
from pipeline.cluster.quiet import keep_quiet, without_pickles
from pipeline.errors import MachineRefusedError
from pipeline.plan import CLUSTER_THREADS, Cluster


def look_at_workers(cluster: Cluster) -> list[dict[str, Any]]:
    """The workers that are listed, by name: who they are, and `state`: "ready", "refused" or "lost", with `why`.
    ClusterError where no scheduler answers, MachineRefusedError where this machine cannot run the engine."""
    keep_quiet()
    without_pickles()
    credential = read_credential(cluster.credential, HEAD_ROLE)
    try:
        own = own_identity("head")
    except engine.UnsupportedCpu as error:
        raise MachineRefusedError(str(error)) from error
    done: Future[list[dict[str, Any]]] = Future()

    def look() -> None:
        try:
            done.set_result(asyncio.run(_look(cluster.scheduler, credential, own)))
        except BaseException as error:
            done.set_exception(error)

    cluster.begin(threading.Thread(target=look, name=CLUSTER_THREADS, daemon=True))
    return done.result()


async def _look(address: str, credential: Credential, own: Identity) -> list[dict[str, Any]]:
    asyncio.get_running_loop().set_default_executor(
        ThreadPoolExecutor(2, CLUSTER_THREADS)
    )  # it asks for the address of a name
    scheduler = Calls(address, credential)
    try:
        listed = await scheduler.listed()
    except (WorkerLostError, BadWorkerError) as error:
        raise ClusterError(f"cluster {address}: no scheduler answers there: {error}") from error
    finally:
        await scheduler.close()
    found = await asyncio.gather(
        *(_look_at(at, str(facts.get("name")), credential, own) for at, facts in listed.items())
    )
    return sorted(found, key=lambda one: str(one["worker"]))


async def _look_at(address: str, name: str, credential: Credential, own: Identity) -> dict[str, Any]:
    worker, facts = Calls(address, credential), {"worker": name[:200], "address": address}
    try:
        identity = parse_identity(await worker.call("look", 20.0))
        facts |= identity.to_json()
        check_worker(own, identity)
        return facts | {"state": "ready", "why": None}
    except WorkerRefusedError as error:
        return facts | {"state": "refused", "why": str(error)}
    except (WorkerLostError, BadWorkerError) as error:
        return facts | {"state": "lost", "why": str(error)}
    finally:
        await worker.close()
