"""A PostgreSQL server of the tests' own: on loopback, in a folder that is removed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PASSWORD = "PASSWORD51f0ce"  # noqa: S105  for nobody else, and a canary as well
OWNER, LOCKED = "ada", "grace"
"""A user who is trusted, and one who needs the password."""
HBA = f"host all {LOCKED} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
PATIENCE = 30.0


def binaries() -> Path | None:
    """Find the folder of a server's programs."""
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "psql").exists()), None)


def why_not() -> str | None:
    """Say why there can be no server here, if there cannot."""
    if binaries() is None:
        return (
            "no PostgreSQL server is installed: 'scripts/system postgres postgresql' installs one "
            "on Debian"
        )
    if os.getuid() == 0 and _user() is None:
        return "a PostgreSQL server refuses to run as root, and there is no user 'postgres'"
    return None


def _user() -> pwd.struct_passwd | None:
    return next((u for u in pwd.getpwall() if u.pw_name == "postgres"), None)


@dataclass
class Server:
    """A server that can be stopped, killed and started again."""

    folder: Path = field(init=False)
    port: int = field(init=False)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        """Make a cluster and start it."""
        self.folder = Path(tempfile.mkdtemp(prefix="understudy-postgresql-"))
        if os.getuid() == 0:
            owner = _user()
            assert owner is not None
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        made = ["initdb", "-D", self.data, "-U", OWNER, "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(self._as_owner(made), check=True, capture_output=True, **self._owner())
        (self.folder / "data" / "pg_hba.conf").write_text(HBA)
        self.start()
        self.sql("CREATE DATABASE city", database="postgres")
        self.sql(f"CREATE ROLE {LOCKED} LOGIN PASSWORD '{PASSWORD}'")

    @property
    def data(self) -> str:
        """The folder of the cluster."""
        return str(self.folder / "data")

    def address(self, *, user: str = OWNER, database: str = "city", given: str = "") -> str:
        """Write an address of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}{given}"

    def _as_owner(self, command: list[str]) -> list[str]:
        found = binaries()
        assert found is not None
        return [str(found / command[0]), *command[1:]]

    def _owner(self) -> dict[str, Any]:
        if os.getuid() != 0:
            return {"cwd": self.folder}
        return {"cwd": self.folder, "user": "postgres", "group": "postgres", "extra_groups": []}

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "fsync": "off",
            "logging_collector": "off",
        }
        options = [part for k, v in settings.items() for part in ("-c", f"{k}={v}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._as_owner(["postgres", "-D", self.data, *options]),
                stdout=log,
                stderr=log,
                **self._owner(),
            )
        end = time.monotonic() + PATIENCE
        while subprocess.run(
            self._psql("SELECT 1", "postgres"), check=False, capture_output=True
        ).returncode:
            assert self.process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)

    def kill(self) -> None:
        """End the server and all that it was doing, at once."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(PATIENCE)
            self.process = None

    def close(self) -> None:
        """End it, and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder)

    def _psql(self, statement: str, database: str) -> list[str]:
        options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.address(database=database)]
        return self._as_owner(["psql", *options, "-c", statement])

    def sql(self, statement: str, *, database: str = "city", text: bytes = b"") -> None:
        """Run a statement, with a text for what it reads."""
        done = subprocess.run(
            self._psql(statement, database),
            input=text,
            check=False,
            capture_output=True,
            env={**os.environ, "PGCLIENTENCODING": "UTF8"},
        )
        assert done.returncode == 0, done.stderr

    def filled(self, table: str, columns: str, text: bytes, *, database: str = "city") -> None:
        """Make a table of a CSV file with a header."""
        self.sql(f"DROP TABLE IF EXISTS {table} CASCADE", database=database)
        self.sql(f"CREATE TABLE {table} ({columns})", database=database)
        self.sql(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)", database=database, text=text)
