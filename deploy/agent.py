#!/usr/bin/env python3
"""Plays an AI agent's work on a stored JSON document through MCP, and checks every revision.

    agent.py --mcp PROGRAM --sirixctl PROGRAM --data DIR --database NAME --resource NAME

Starts `sirix-mcp --database-path DIR --read-write` as a host would, speaks MCP with it over stdin
and stdout, and does what an agent does that may change data but must be able to take it back: label
the state, read, insert, update, delete, look at the diff, revert to the label. After each change the
text that `sirixctl export` gives of the new revision is compared with what a plain model of the
document says. Works on any JSON value. Exits with 1 at the first thing that is not as it should be.
"""
import argparse
import json
import subprocess
import sys
import threading

LABEL = "before-work"
CALL_SECONDS = 120
READ_LIMIT = 20


class Mismatch(Exception):
    """Something is not as it should be; the text says what."""


class Number:
    """A number by its text, since a float would change it."""

    def __init__(self, text):
        self.text = text


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def serialise(value):
    """Compact JSON text, as the store writes it; does not recurse."""
    out = []
    stack = [("value", value)]
    while stack:
        kind, item = stack.pop()
        if kind == "text":
            out.append(item)
        elif isinstance(item, Number):
            out.append(item.text)
        elif isinstance(item, dict):
            stack.append(("text", "}"))
            members = list(item.items())
            for at in range(len(members) - 1, -1, -1):
                name, member = members[at]
                stack.append(("value", member))
                lead = "," if at else ""
                stack.append(("text", lead + json.dumps(name, ensure_ascii=False) + ":"))
            out.append("{")
        elif isinstance(item, list):
            stack.append(("text", "]"))
            for at in range(len(item) - 1, -1, -1):
                stack.append(("value", item[at]))
                if at:
                    stack.append(("text", ","))
            out.append("[")
        else:
            out.append(json.dumps(item, ensure_ascii=False))
    return "".join(out)


def short(value, width=72):
    text = value if isinstance(value, str) else serialise(value)
    return text if len(text) <= width else text[: width - 3] + "..."


class Model:
    """What the document must be. Large documents: the text of what did not change is kept."""

    def __init__(self, text):
        self.value = parse(text)
        self.pieces = {}  # By identity of a value below the root: the value, and its text.

    def piece(self, value):
        found = self.pieces.get(id(value))
        if found is None:
            found = self.pieces[id(value)] = (value, serialise(value))
        return found[1]

    def forget(self, step):
        """The text of what is below this step of the root is about to change."""
        self.pieces.pop(id(self.value[step]), None)

    def text(self):
        root = self.value
        if isinstance(root, dict):
            members = (serialise(name) + ":" + self.piece(value) for name, value in root.items())
            return "{" + ",".join(members) + "}"
        if isinstance(root, list):
            return "[" + ",".join(self.piece(value) for value in root) + "]"
        return serialise(root)


class Server:
    """The MCP server as a child process: one JSON message a line."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next_id = 0

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params=None):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        # A server that never answers must not hold up whoever started this.
        watchdog = threading.Timer(CALL_SECONDS, self.process.kill)
        watchdog.start()
        try:
            while True:
                line = self.process.stdout.readline()
                if not line:
                    raise Mismatch(f"sirix-mcp ended while it owed an answer to {method}")
                answer = parse(line.decode())
                if answer.get("method") == "elicitation/create":
                    self.say_yes(answer)
                    continue
                if isinstance(answer.get("id"), Number) and answer["id"].text == str(self.next_id):
                    break
        finally:
            watchdog.cancel()
        if "error" in answer:
            raise Mismatch(f"{method}: {short(answer['error'], 300)}")
        return answer["result"]

    def say_yes(self, question):
        """The part of the person whom a host would ask before data is destroyed."""
        shown = question["params"]["message"].split("\n")[0]
        print(f"      asked: {short(shown, 100)}\n      yes")
        self.send({"jsonrpc": "2.0", "id": question["id"], "result": {
            "action": "accept", "content": {"confirm": True}}})

    def call(self, tool, **arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise Mismatch(f"{tool}: {result['content'][0]['text']}")
        return result["structuredContent"]

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(CALL_SECONDS)
        if code != 0:
            raise Mismatch(f"sirix-mcp ended with code {code}")


class Node:
    """A node as the server names it, with its place in the model."""

    def __init__(self, item, parent=None, step=None):
        self.key = int(item["nodeKey"].text)
        self.kind = item["kind"]
        self.parent = parent
        self.step = step
        self.children = []

    def path(self):
        steps = []
        node = self
        while node.parent is not None:
            steps.append(f"[{node.step}]" if isinstance(node.step, int) else str(node.step))
            node = node.parent
        return "/" + "/".join(reversed(steps)) if steps else "the document"

    def is_container(self):
        return self.kind in ("object", "array")

    def is_within(self, other):
        node = self
        while node is not None and node is not other:
            node = node.parent
        return node is not None


class Agent:
    def __init__(self, options):
        self.options = options
        self.where = {"database": options.database, "resource": options.resource}
        self.server = None
        self.model = None
        self.revision = 0
        self.step = 0
        self.changed = {"inserts": 0, "updates": 0, "deletes": 0}

    def say(self, text):
        self.step += 1
        print(f"  {self.step:2}. {text}", flush=True)

    # --- The store's own door, beside the agent's ---------------------------------------------------

    def export(self, revision):
        options = self.options
        name = f"{options.database}/{options.resource}@{revision}"
        done = subprocess.run(
            [options.sirixctl, "export", "--data", options.data, "--quiet", name],
            capture_output=True, check=False)
        if done.returncode != 0:
            raise Mismatch(f"sirixctl export {name}: {done.stderr.decode().strip()}")
        return done.stdout.decode().rstrip("\n")

    def check(self, revision, wanted):
        self.compare(revision, self.export(revision), wanted)

    @staticmethod
    def compare(revision, found, wanted):
        if found != wanted:
            at = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b),
                      min(len(found), len(wanted)))
            raise Mismatch(
                f"revision {revision} is not what it should be, from character {at} on:\n"
                f"     is        {found[max(0, at - 30):at + 60]}\n"
                f"     should be {wanted[max(0, at - 30):at + 60]}")
        print(f"      revision {revision}: {len(found):,} characters, as expected", flush=True)

    # --- The model ----------------------------------------------------------------------------------

    def value(self, node):
        steps = []
        while node.parent is not None:
            steps.append(node.step)
            node = node.parent
        value = self.model.value
        for step in reversed(steps):
            value = value[step]
        return value

    def change_of(self, node):
        """The node's value, which is about to change."""
        top = node
        while top.parent is not None and top.parent.parent is not None:
            top = top.parent
        if top.parent is not None:
            self.model.forget(top.step)
        return self.value(node)

    def set(self, node, value):
        if node.parent is None:
            self.model.value = value
        else:
            self.change_of(node.parent)[node.step] = value

    # --- Looking around -----------------------------------------------------------------------------

    def read(self, node, key=0):
        """Reads a node; gives it the children whose names the model knows as they are."""
        answer = self.server.call("sirix_read_node", **self.where, nodeKey=key, maxDepth=1,
                                  limit=READ_LIMIT)
        if node is None:
            node = Node(answer)
        if node.is_container():
            value = self.value(node)
            for item in answer.get("children", []):
                step = int(item["index"].text) if "index" in item else item["name"]
                if isinstance(value, list) or step in value:
                    node.children.append(Node(item, node, step))
        return node

    def look(self):
        """The root, every node that was seen, and the container to work in."""
        root = self.read(None)
        seen = [root]
        containers = [root] if root.is_container() else []
        at = root
        while at is not None and at.is_container() and len(containers) < 8:
            seen.extend(at.children)
            below = [child for child in at.children if child.is_container()]
            at = below[0] if below else None
            if at is not None:
                self.read(at, at.key)
                containers.append(at)
        # An array shows best what inserting does; the document itself will do.
        place = next((node for node in containers if node.kind == "array"),
                     containers[0] if containers else None)
        return root, seen, place

    # --- Changing -----------------------------------------------------------------------------------

    def follow(self, answer, wanted=None):
        """Takes the revision of an answer, whose text must be the wanted one: else the model's."""
        revision = int(answer["revision"].text)
        if int(answer["parentRevision"].text) != self.revision or revision <= self.revision:
            raise Mismatch(f"a revision after {self.revision} was awaited: {short(answer, 200)}")
        self.revision = revision
        print(f"      {answer['message']}", flush=True)
        self.check(revision, self.model.text() if wanted is None else wanted)

    def insert(self, place):
        value = self.change_of(place)
        if isinstance(value, list):
            data = {"note": "checked by the agent", "score": 0.10}
            shown, added = data, parse('{"note":"checked by the agent","score":0.1}')
            value.append(added)
            step = len(value) - 1
        else:
            name = "agent-note"
            while name in value:
                name += "-"
            shown = {name: "checked by the agent"}
            value[name] = "checked by the agent"
            step = name
        self.say(f"sirix_insert as last child of {place.path()}: {short(json.dumps(shown))}")
        answer = self.server.call("sirix_insert", **self.where, data=shown, parentNodeKey=place.key,
                                  position="last_child", message="agent: insert",
                                  expectedRevision=self.revision)
        self.follow(answer)
        self.changed["inserts"] += 1
        key = answer["nodeKeys"][0]
        kind = "object" if isinstance(value, list) else "string"
        return Node({"nodeKey": key, "kind": kind}, place, step)

    def update(self, node):
        old = self.value(node)
        exact = Number("12345678901234567890.10")
        new = exact if not isinstance(old, Number) or old.text != exact.text else "changed"
        shown = {"valueJson": serialise(new)}
        self.set(node, new)
        self.say(f"sirix_update of {node.path()}: {short(old, 30)} becomes {serialise(new)}")
        self.follow(self.server.call("sirix_update", **self.where, nodeKey=node.key, **shown,
                                     message="agent: update", expectedRevision=self.revision))
        self.changed["updates"] += 1

    def delete(self, node):
        self.say(f"sirix_delete of {node.path()}: {short(self.value(node), 50)}")
        del self.change_of(node.parent)[node.step]
        self.follow(self.server.call("sirix_delete", **self.where, nodeKey=node.key,
                                     message="agent: delete", expectedRevision=self.revision))
        self.changed["deletes"] += 1

    def diff(self, **ends):
        return self.server.call("sirix_diff", **self.where, **ends)

    # --- The work -----------------------------------------------------------------------------------

    def begin(self):
        options = self.options
        command = [options.mcp, "--database-path", options.data, "--read-write"]
        self.server = Server(command)
        self.say("initialize: " + " ".join(command))
        answer = self.server.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "agent.py", "version": "1"}})
        self.server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        print(f"      {answer['serverInfo']['name']} {answer['serverInfo']['version']}, protocol "
              f"{answer['protocolVersion']}")
        names = [tool["name"] for tool in self.server.request("tools/list")["tools"]]
        self.say(f"tools/list: {len(names)} tools, {', '.join(names[:4])}, ...")

    def label(self):
        answer = self.server.call("sirix_create_snapshot", **self.where, name=LABEL, replace=True)
        self.say(f"sirix_create_snapshot {LABEL}")
        print(f"      {answer['message']}")
        self.revision = int(answer["revision"].text)
        text = self.export(self.revision)
        self.model = Model(text)
        self.compare(self.revision, text, self.model.text())
        return text

    def change(self):
        root, seen, place = self.look()
        what = "a single value" if place is None else f"{place.kind} {place.path()}"
        self.say(f"sirix_read_node: the document is {'an' if root.is_container() else 'a'} "
                 f"{root.kind}; the work is on {what}")
        scalars = [node for node in seen if not node.is_container()]
        inserted = self.insert(place) if place is not None else None
        if scalars:
            self.update(scalars[-1])
        elif inserted is not None:
            self.read(inserted, inserted.key)
            scalars = inserted.children[:1] or [inserted]
            self.update(scalars[0])
        if place is None:
            print("      a single value has nothing to insert into or to delete from")
            return
        # What was updated stays, so that the diff shows one of each kind.
        victims = [node for node in place.children if not scalars[-1].is_within(node)]
        if victims:
            self.delete(victims[0])
        else:
            self.delete(self.insert(place))

    def review(self):
        answer = self.diff(from_snapshot=LABEL)
        counts = {name: int(answer[name].text)
                  for name in ("inserts", "deletes", "updates", "replaces", "renames", "moves")}
        self.say(f"sirix_diff from {LABEL}: " + ", ".join(f"{n} {k}" for k, n in counts.items()))
        for change in answer["changes"][:6]:
            now = change.get("newValue", change.get("value"))
            before = change.get("oldValue")
            print(f"      {change['type']:8} node {change['nodeKey'].text} {short(change['path'], 40)}"
                  + (f" was {short(before, 30)}" if before is not None else "")
                  + (f" is {short(now, 40)}" if now is not None else ""))
        if sum(counts.values()) == 0:
            raise Mismatch("the diff is empty though data was changed")

    def take_back(self, text):
        answer = self.server.call("sirix_revert", **self.where, snapshot=LABEL,
                                  message="agent: revert")
        self.say(f"sirix_revert to {LABEL}")
        self.follow(answer, text)
        answer = self.diff(from_snapshot=LABEL, to_revision=self.revision)
        left = sum(int(answer[name].text) for name in
                   ("inserts", "deletes", "updates", "replaces", "renames", "moves"))
        if left != 0:
            raise Mismatch(f"after the revert {left} changes are left")
        self.say(f"sirix_diff from {LABEL} to revision {self.revision}: no change is left")
        answer = self.server.call("sirix_history", **self.where, count=6)
        self.say("sirix_history: nothing is lost")
        for item in answer["revisions"]:
            print(f"      {item['revision'].text:>5}  {item['timestamp']}  {item['message']}")

    def run(self):
        self.begin()
        text = self.label()
        self.change()
        self.review()
        self.take_back(text)
        self.server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    for name in ("mcp", "sirixctl", "data", "database", "resource"):
        parser.add_argument("--" + name, required=True)
    agent = Agent(parser.parse_args())
    try:
        agent.run()
    except (Mismatch, OSError, KeyError, ValueError, RecursionError) as error:
        print(f"agent.py: {type(error).__name__}: {error}", file=sys.stderr)
        if agent.server is not None:
            agent.server.process.kill()
        return 1
    print("Every revision was as expected.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
