"""Compiles our .proto files with the standard protoc and imports what came out.

The tests speak to the daemon through Debian's python3-grpcio, which carries its own copy of gRPC and
its own protobuf: an independent reading of the contract.
"""
import atexit
import importlib
import os
import shutil
import subprocess
import sys
import tempfile


def load(proto_dir, *modules):
    """Generates Python code for every .proto of proto_dir; returns the modules asked for."""
    out = tempfile.mkdtemp(prefix="sirix_protos_")
    atexit.register(shutil.rmtree, out, True)
    files = []
    for folder, _, names in os.walk(proto_dir):
        files += [os.path.join(folder, n) for n in names if n.endswith(".proto")]
    subprocess.run(["protoc", "-I" + proto_dir, "--python_out=" + out, *sorted(files)], check=True)
    # grpc/health becomes a package below `grpc`, where python3-grpcio has one already.
    import grpc
    grpc.__path__.append(os.path.join(out, "grpc"))
    sys.path.insert(0, out)
    return [importlib.import_module(m) for m in modules]
