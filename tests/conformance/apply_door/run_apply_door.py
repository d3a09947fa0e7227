#!/usr/bin/python3
"""Conformance of JSON patches through the door that clients have: every case of json_patch.jsonl in
$SIRIX_SUITES/given (default: shared/suites beside the repository), and of the project's own cases.

Each patch goes to two branches of one resource, in a message to one and as a stream to the other. The
value afterwards must be the expected one; or the patch must be refused, and both heads stay. Then what
Diff says of the two revisions as a patch, both ways, is applied again and must lead from one to the
other; and so must the native diff.
"""
import argparse
import decimal
import json
import os
import unittest

import case

FILES = []


def parts(line):
    """The members of a case with the text that each has in the line: nothing is read and written again."""
    decoder = json.JSONDecoder(strict=False)
    whole = decoder.decode(line)
    found = {}
    at = line.index("{") + 1
    while len(found) < len(whole):
        at += len(line[at:]) - len(line[at:].lstrip(" \t,"))
        name, at = decoder.raw_decode(line, at)
        at = line.index(":", at) + 1
        at += len(line[at:]) - len(line[at:].lstrip())
        _, end = decoder.raw_decode(line, at)
        found[name] = line[at:end]
        at = end
    return found


def value_of(text):
    """A value whose equality is that of JSON: numbers exactly, and never equal to true or false."""
    def plain(value):
        if isinstance(value, bool) or value is None:
            return ("literal", value)
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return plain(json.loads(text, parse_float=decimal.Decimal, parse_int=decimal.Decimal,
                            strict=False))


class Door(case.DaemonCase):
    def branch(self, resource, name, revision):
        self.client.CreateBranch(database=b"db", resource=resource, name=name,
                                 view=case.pb.View(revision=revision))

    def patch(self, resource, text, branch, streamed):
        pb = case.pb
        if not streamed:
            return self.client.Apply(database=b"db", resource=resource, branch=branch,
                                     json_patch=pb.Value(json=text))
        start = pb.ApplyRequest(database=b"db", resource=resource, branch=branch,
                                json_patch=pb.Value(streamed=True))
        return self.client.ApplyStream(
            [pb.ApplyStreamRequest(start=start)] +
            [pb.ApplyStreamRequest(chunk=pb.ValueChunk(data=text[i:i + 7]))
             for i in range(0, len(text), 7)])

    def value(self, resource, branch):
        return value_of(self.text(resource, view=case.pb.View(branch=branch)))

    def lead_back(self, resource, before, after):
        """From one revision to the other and back, by what Diff says and by the diff itself."""
        pb = case.pb
        for label, old, new in ((b"to", before, after), (b"fro", after, before)):
            ends = {"from": pb.View(revision=old), "to": pb.View(revision=new)}
            wanted = value_of(self.text(resource, view=ends["to"]))
            text = b"".join(p.json_patch for p in self.client.Diff(
                database=b"db", resource=resource, format=pb.DIFF_FORMAT_JSON_PATCH, **ends))
            self.branch(resource, label + b"-patch", old)
            self.patch(resource, text, label + b"-patch", False)
            self.assertEqual(self.value(resource, label + b"-patch"), wanted)
            self.branch(resource, label + b"-diff", old)
            self.client.Apply(database=b"db", resource=resource, branch=label + b"-diff",
                              diff=pb.DiffSource(**ends))
            self.assertEqual(self.value(resource, label + b"-diff"), wanted)

    def run_case(self, found):
        name = self.resource(found["doc"])
        patch = found["patch"].encode()
        for branch, streamed in ((b"message", False), (b"stream", True)):
            self.branch(name, branch, 1)
            if "error" in found:
                reason = self.refused_reason(name, patch, branch, streamed)
                self.assertIn(reason, (b"patch_target", b"patch_test", b"field_invalid",
                                       b"field_missing", b"duplicate_key"))
                self.assertEqual(self.head(name, branch), 1)
                continue
            self.patch(name, patch, branch, streamed)
            if "expect" in found:
                self.assertEqual(self.value(name, branch), value_of(found["expect"]))
            else:
                self.assertEqual(self.value(name, branch), self.value(name, b"message"))
        if "error" not in found:
            self.lead_back(name, 1, self.head(name, b"message"))

    def refused_reason(self, name, patch, branch, streamed):
        with self.assertRaises(case.grpc.RpcError) as caught:
            self.patch(name, patch, branch, streamed)
        self.assertEqual(caught.exception.code().name, "INVALID_ARGUMENT")
        return case.daemon.detail(caught.exception, case.error).reason

    def test_patches_through_the_door_do_as_the_suite_wants(self):
        cases = 0
        for path in FILES:
            with open(path, encoding="utf-8", newline="\n") as lines:
                for line in lines:
                    found = parts(line)
                    with self.subTest(found.get("id", line)):
                        self.run_case(found)
                    cases += 1
        self.assertGreater(cases, 0)
        print("%d cases" % cases)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--suites", required=True)
    parser.add_argument("--own", required=True)
    arguments, rest = parser.parse_known_args()
    given = os.path.join(os.environ.get("SIRIX_SUITES", arguments.suites), "given",
                         "json_patch.jsonl")
    if os.path.exists(given):
        FILES.append(given)
    else:
        print("no suite at %s (set SIRIX_SUITES): only the project's own cases are run" % given)
    FILES.append(os.path.join(arguments.own, "own_patch.jsonl"))
    case.sys.argv[1:] = rest
    case.main()


if __name__ == "__main__":
    main()
