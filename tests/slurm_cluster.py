"""A real Slurm of one host on loopback, from Debian's packages, without systemd.

Everything it needs, keys, sockets, state, logs, lives in one folder of its own.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ["setpriv", "munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel"]
CPUS = 4
"""Of the one node, whatever the machine has: two jobs can always run side by side."""

CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,defer_batch
ReturnToService=2
SlurmdTimeout=300
InactiveLimit=0
KillWait=2
OverTimeLimit=0
MinJobAge={remembered}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A running one; ``environment`` is what its programs need to find it."""

    root: Path
    environment: dict[str, str]

    def ask(self, *command: str) -> str:
        """What one of its programs answers."""
        return subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, check=True
        ).stdout

    def clear(self) -> None:
        """No job is left, queued or running."""
        self.ask("scancel", "--user=root")
        until(lambda: not self.ask("squeue", "--noheader"))


def missing() -> str | None:
    """Why there can be no Slurm here, if so."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "a Slurm for the tests is started by root only"
    lacking = [name for name in PROGRAMS if _program(name) is None]
    if lacking:
        return f"Debian's slurm-wlm and munge are not installed (no {', '.join(lacking)})"
    return None


@contextlib.contextmanager
def running(remembered: int = 2) -> Iterator[Slurm]:
    """Start munged, slurmctld and slurmd; stop them and all jobs at the end, whatever happened.

    Ended jobs are forgotten after ``remembered`` seconds, as they are everywhere at some time.
    """
    root = Path(tempfile.mkdtemp(prefix="tsbench-slurm-"))
    root.chmod(0o755)  # for the user munge
    daemons: list[subprocess.Popen[bytes]] = []
    slurm = Slurm(root, {"SLURM_CONF": str(root / "slurm.conf")})
    try:
        daemons.append(_munge(root))
        (root / "state").mkdir()
        (root / "spool").mkdir()
        controller, node = _free_ports(2)
        host = socket.gethostname().partition(".")[0]
        (root / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=host,
                root=root,
                controller=controller,
                node=node,
                remembered=remembered,
                cpus=CPUS,
            )
        )
        for name in ("slurmctld", "slurmd"):
            daemons.append(_start([_program(name), "-D"], root, slurm.environment))
        until(lambda: _answers(slurm, daemons))
        yield slurm
    finally:
        with contextlib.suppress(Exception):
            slurm.clear()
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in reversed(daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(root, ignore_errors=True)


def until(condition, seconds: float = 120) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {seconds} s"
        time.sleep(0.05)


def _munge(root: Path) -> subprocess.Popen[bytes]:
    user = pwd.getpwnam("munge")
    home = root / "munge"
    home.mkdir(mode=0o755)
    key = home / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    for path in (home, key):
        os.chown(path, user.pw_uid, user.pw_gid)
    command = [
        _program("munged"), "--foreground", "--force", "--num-threads=2",
        f"--socket={home}/socket", f"--key-file={key}", f"--log-file={home}/log",
        f"--pid-file={home}/pid", f"--seed-file={home}/seed",
    ]  # fmt: skip
    daemon = _start(command, root, {}, user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    until((home / "socket").exists)
    return daemon


def _start(command, root: Path, environment: dict[str, str], **user) -> subprocess.Popen[bytes]:
    with (root / f"{Path(command[0]).name}.out").open("wb") as out:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command],  # even if the tests are killed
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=os.environ | environment,
            start_new_session=True,
            **user,
        )


def _answers(slurm: Slurm, daemons: list[subprocess.Popen[bytes]]) -> bool:
    for daemon in daemons:
        if daemon.poll() is not None:
            said = "\n".join(p.read_text(errors="replace") for p in slurm.root.glob("*.out"))
            raise AssertionError(f"{daemon.args[3]} ended: {said[-2000:]}")
    try:
        return slurm.ask("sinfo", "--noheader", "--format=%T").strip() == "idle"
    except subprocess.CalledProcessError:
        return False


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
