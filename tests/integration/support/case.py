"""What the tests of the daemon share: one daemon a class, a client of it, and short words."""
import argparse
import json
import struct
import sys
import unittest

import grpc

import daemon
import protos

ARGS = None
pb = error = None


def main():
    """Reads --storaged and --proto, then runs the tests of the calling module."""
    global ARGS, pb, error
    parser = argparse.ArgumentParser()
    parser.add_argument("--storaged", required=True)
    parser.add_argument("--proto", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(module="__main__", argv=sys.argv[:1] + rest, verbosity=2)


def load():
    global pb, error
    if pb is None:
        pb, error = protos.load(ARGS.proto, "sirix.storage.v1.storage_pb2",
                                "sirix.storage.v1.error_pb2")
    return pb


def value(text):
    return pb.Value(json=text.encode() if isinstance(text, str) else text)


def insert(text, name=None, **place):
    message = pb.Insert(place=pb.Place(**place), value=value(text))
    if name is not None:
        message.name = name
    return pb.Operation(insert=message)


def update(key, text):
    return pb.Operation(update=pb.Update(node_key=key, value=value(text)))


def replace(key, text):
    return pb.Operation(replace=pb.Replace(node_key=key, value=value(text)))


def delete(key):
    return pb.Operation(delete=pb.Delete(node_key=key))


def rename(key, name):
    return pb.Operation(rename=pb.Rename(node_key=key, name=name))


def move(key, name=None, **place):
    message = pb.Move(node_key=key, place=pb.Place(**place))
    if name is not None:
        message.name = name
    return pb.Operation(move=message)


class DaemonCase(unittest.TestCase):
    arguments = ()
    parent = None  # Of the folder of data; None: where temporary files go.

    @classmethod
    def setUpClass(cls):
        load()
        cls.daemon = daemon.Daemon(ARGS.storaged, *cls.arguments, parent=cls.parent)
        cls.client = daemon.Client(cls.daemon.owner, pb)
        cls.names = 0
        cls.client.CreateDatabase(database=b"db")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        code = cls.daemon.end()
        log = cls.daemon.log_text()
        cls.daemon.close()
        assert code == 0, "exit code %d: %s" % (code, log[-4000:])

    def killed(self):
        """Kills the daemon and starts it again."""
        self.client.close()
        self.assertEqual(self.daemon.end(9), -9)
        self.daemon.start()
        type(self).client = daemon.Client(self.daemon.owner, pb)

    # --- Short words -----------------------------------------------------------------------------

    def resource(self, text=None, **options):
        """A fresh resource of database db, with a value."""
        type(self).names += 1
        name = b"r%d" % self.names
        if text is None:
            self.client.CreateResource(database=b"db", resource=name)
        else:
            self.load(name, text, **options)
        return name

    def load(self, resource, text, size=65536, client=None, database=b"db", **start):
        data = text.encode() if isinstance(text, str) else text
        messages = [pb.ImportRequest(start=pb.ImportStart(database=database, resource=resource,
                                                          **start))]
        messages += [pb.ImportRequest(data=data[i:i + size]) for i in range(0, len(data), size)]
        return (client or self.client).Import(messages)

    def apply(self, resource, *operations, client=None, **fields):
        return (client or self.client).Apply(database=b"db", resource=resource,
                                             operations=operations, **fields)

    def text(self, resource, client=None, **fields):
        """The document as it is read, as text."""
        parts = list((client or self.client).ReadDocument(database=b"db", resource=resource,
                                                          **fields))
        self.assertTrue(parts[0].HasField("start"))
        return b"".join(p.data for p in parts[1:]).decode()

    def json(self, resource, **fields):
        return json.loads(self.text(resource, **fields))

    def node(self, resource, path, **fields):
        """The node at a path."""
        fields.setdefault("max_depth", 0)
        return self.client.ReadNode(database=b"db", resource=resource, path=path.encode(),
                                    **fields).nodes[0]

    def diff(self, resource, **fields):
        """(changes, end) of a native diff; (patch, end) of a JSON patch."""
        parts = list(self.client.Diff(database=b"db", resource=resource, **fields))
        self.assertTrue(parts[0].HasField("start"))
        self.assertTrue(parts[-1].HasField("end"))
        if fields.get("format") == pb.DIFF_FORMAT_JSON_PATCH:
            return json.loads(b"".join(p.json_patch for p in parts[1:-1])), parts[-1].end
        return [c for p in parts[1:-1] for c in p.changes.changes], parts[-1].end

    def head(self, resource, branch=b"main"):
        return self.client.History(database=b"db", resource=resource, view=pb.View(branch=branch),
                                   page_size=1).revisions[0].revision

    def backup(self, since=b"", database=b"db", client=None):
        """(bytes, start, end) of a whole backup."""
        parts = list((client or self.client).Backup(database=database, since=since))
        self.assertTrue(parts[0].HasField("start"))
        self.assertTrue(parts[-1].HasField("end"))
        self.assertTrue(all(p.HasField("data") for p in parts[1:-1]))
        self.assertTrue(all(0 < len(p.data) <= 256 * 1024 for p in parts[1:-1]))
        data = b"".join(p.data for p in parts[1:-1])
        self.assertEqual(parts[-1].end.bytes, len(data))
        return data, parts[0].start, parts[-1].end

    @staticmethod
    def base(data):
        """The last frame of a backup, on which the next one builds."""
        return data[-struct.unpack("<Q", data[-8:])[0]:]

    def restore(self, name, *backups, size=100000, client=None):
        data = b"".join(backups)
        messages = [pb.RestoreRequest(start=pb.RestoreStart(database=name))]
        messages += [pb.RestoreRequest(data=data[i:i + size]) for i in range(0, len(data), size)]
        return (client or self.client).Restore(messages)

    def refused(self, code, reason, function, *args, **kwargs):
        """Calls and expects this code and reason; returns the ErrorDetail."""
        with self.assertRaises(grpc.RpcError) as caught:
            answer = function(*args, **kwargs)
            if not hasattr(answer, "SerializeToString"):
                list(answer)
        failure = caught.exception
        found = daemon.detail(failure, error)
        self.assertEqual((failure.code().name, found.reason if found else None),
                         (code, reason.encode() if reason else None), failure.details())
        return found
