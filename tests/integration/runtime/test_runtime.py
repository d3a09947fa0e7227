"""The gRPC runtime, asked by python3-grpcio: every kind of call, and every way that one can end."""
import argparse
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc

import protos

ARGS = None
storage = error = health = reflection = reflection_alpha = None
WAIT = 30


def setUpModule():
    global storage, error, health, reflection, reflection_alpha
    storage, error, health, reflection, reflection_alpha = protos.load(
        ARGS.proto, "sirix.storage.v1.storage_pb2", "sirix.storage.v1.error_pb2",
        "grpc.health.v1.health_pb2", "grpc.reflection.v1.reflection_pb2",
        "grpc.reflection.v1alpha.reflection_pb2")


class Server:
    """One toy server: a TCP port and a socket for the owner, a socket for readers."""

    def __init__(self, workers=4, grace_ms=1000, preexec=None):
        self.dir = tempfile.mkdtemp(prefix="sirix_toy_")
        self.socket = "unix:" + self.dir + "/toy.sock"
        self.reader_socket = "unix:" + self.dir + "/reader.sock"
        self.process = subprocess.Popen(
            [ARGS.server, str(workers), str(grace_ms), "owner", "127.0.0.1:0", "owner", self.socket,
             "reader", self.reader_socket],
            stdout=subprocess.PIPE, text=True, preexec_fn=preexec)
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ["ready"], ready
        self.tcp = "127.0.0.1:" + ready[1]

    def end(self):
        """Sends SIGTERM; returns (exit code, states started, states ended)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=WAIT)
        shutil.rmtree(self.dir, True)
        words = out.split()
        return self.process.returncode, int(words[1]), int(words[2])


def options(own_connection=True):
    return [("grpc.use_local_subchannel_pool", int(own_connection)), ("grpc.enable_http_proxy", 0),
            ("grpc.max_receive_message_length", 64 << 20)]


class Client:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, options())

    def close(self):
        self.channel.close()

    def unary(self, name):
        return self.channel.unary_unary("/toy.Toy/" + name, lambda b: storage.AttachRequest(
            client=b).SerializeToString(), lambda b: storage.AttachResponse.FromString(b).version)

    def call(self, name, data=b"", **kwargs):
        kwargs.setdefault("timeout", WAIT)
        return self.unary(name)(data, **kwargs)

    def count(self, messages, size=0, **kwargs):
        kwargs.setdefault("timeout", WAIT)
        return self.channel.unary_stream("/toy.Toy/Count", storage.AttachRequest.SerializeToString,
                                         storage.AttachResponse.FromString)(
            storage.AttachRequest(client=b"%d %d" % (messages, size)), **kwargs)

    def sum(self, chunks, **kwargs):
        kwargs.setdefault("timeout", WAIT)
        return self.channel.stream_unary("/toy.Toy/Sum", lambda b: storage.AttachRequest(
            client=b).SerializeToString(), lambda b: storage.AttachResponse.FromString(b).version)(
            iter(chunks), **kwargs)

    def stats(self):
        names = ["started", "ended", "parked", "held", "running", "cancelled"]
        return dict(zip(names, map(int, self.call("Stats").split())))

    def wait_for(self, condition):
        """Asks the server until it says so: no sleeping, each ask is a round trip."""
        end = time.monotonic() + WAIT
        while True:
            stats = self.stats()
            if condition(stats):
                return stats
            if time.monotonic() > end:
                raise AssertionError("the server never got there: %r" % stats)


def detail(failure):
    """The ErrorDetail in a failed call."""
    for key, value in failure.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = error.ErrorStatus.FromString(value)
            assert status.code == failure.code().value[0]
            assert status.details[0].type_url == b"type.googleapis.com/sirix.storage.v1.ErrorDetail"
            return error.ErrorDetail.FromString(status.details[0].value)
    return None


class RuntimeTest(unittest.TestCase):
    workers = 4

    def setUp(self):
        self.server = Server(self.workers)
        self.addresses = {"tcp": self.server.tcp, "unix": self.server.socket}
        self.clients = []
        self.client = self.connect(self.server.socket)
        self.checked = False

    def connect(self, address):
        client = Client(address)
        self.clients.append(client)
        return client

    def tearDown(self):
        for client in self.clients:
            client.close()
        code, started, ended = self.server.end()
        self.assertEqual(code, 0)
        self.assertEqual(started, ended, "a call's state was not given back")

    def refused(self, code, function, *args, **kwargs):
        with self.assertRaises(grpc.RpcError) as caught:
            result = function(*args, **kwargs)
            if not isinstance(result, bytes):
                list(result)
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        return caught.exception

    def test_unary_calls_answer_over_tcp_and_unix_sockets(self):
        for address in self.addresses.values():
            client = self.connect(address)
            for name in ("Echo", "EchoInline", "Write"):
                for data in (b"", b"x", b"nul\0inside", os.urandom(1 << 20)):
                    self.assertEqual(client.call(name, data), data)

    def test_a_server_stream_arrives_complete_and_in_order(self):
        for address in self.addresses.values():
            answers = list(self.connect(address).count(2000, 100))
            self.assertEqual([a.process_id for a in answers], list(range(1, 2001)))

    def test_a_client_stream_arrives_complete(self):
        for address in self.addresses.values():
            self.assertEqual(self.connect(address).sum([b"x" * 32768] * 200), b"200 6553600")
        self.assertEqual(self.client.sum([]), b"0 0")

    def test_every_status_comes_with_its_code_sentence_and_detail(self):
        codes = {"invalid": "INVALID_ARGUMENT", "not_found": "NOT_FOUND",
                 "already_exists": "ALREADY_EXISTS", "conflict": "ABORTED",
                 "out_of_range": "OUT_OF_RANGE", "precondition": "FAILED_PRECONDITION",
                 "permission": "PERMISSION_DENIED", "unauthenticated": "UNAUTHENTICATED",
                 "exhausted": "RESOURCE_EXHAUSTED", "no_space": "RESOURCE_EXHAUSTED",
                 "no_memory": "RESOURCE_EXHAUSTED", "cancelled": "CANCELLED",
                 "deadline": "DEADLINE_EXCEEDED", "unavailable": "UNAVAILABLE",
                 "outcome_unknown": "UNAVAILABLE", "unsupported": "UNIMPLEMENTED", "io": "INTERNAL",
                 "corrupt": "DATA_LOSS", "internal": "INTERNAL"}
        for name, code in codes.items():
            failure = self.refused(getattr(grpc.StatusCode, code), self.client.call, "Fail",
                                   name.encode())
            self.assertEqual(failure.details(), "gewünscht: %s\n" % name)
            self.assertEqual(detail(failure).status, name.encode())
            self.assertEqual(detail(failure).reason, b"field_invalid")
            self.assertEqual(detail(failure).field, b"client")

    def test_an_unknown_method_is_unimplemented_at_once(self):
        for path in ("/toy.Toy/Nothing", "/no.Such/Service", "/" + "x" * 3000):
            call = self.client.channel.unary_unary(path, lambda b: b, lambda b: b)
            failure = self.refused(grpc.StatusCode.UNIMPLEMENTED, call, b"", timeout=WAIT)
            self.assertIn("there is no method", failure.details())
        stream = self.client.channel.stream_stream("/toy.Toy/No", lambda b: b, lambda b: b)
        self.refused(grpc.StatusCode.UNIMPLEMENTED, stream, iter([b"a", b"b"]), timeout=WAIT)

    def test_a_reader_door_has_no_method_that_writes(self):
        reader = self.connect(self.server.reader_socket)
        self.assertEqual(reader.call("Echo", b"x"), b"x")
        failure = self.refused(grpc.StatusCode.PERMISSION_DENIED, reader.call, "Write", b"x")
        self.assertEqual(detail(failure).reason, b"read_only")

    def test_a_garbage_message_is_invalid(self):
        for data in (b"\xff" * 10, b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05ab"):
            call = self.client.channel.unary_unary("/toy.Toy/Echo", lambda b: b, lambda b: b)
            self.refused(grpc.StatusCode.INVALID_ARGUMENT, call, data, timeout=WAIT)
            stream = self.client.channel.stream_unary("/toy.Toy/Sum", lambda b: b, lambda b: b)
            self.refused(grpc.StatusCode.INVALID_ARGUMENT, stream, iter([b"", data]), timeout=WAIT)

    def test_groups_nested_100000_deep_are_refused(self):
        call = self.client.channel.unary_unary("/toy.Toy/Echo", lambda b: b, lambda b: b)
        deep = b"\x1b" * 100000 + b"\x1c" * 100000
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, call, deep, timeout=WAIT)
        nested = b""
        for _ in range(10000):
            length = len(nested)
            varint = b""
            while length >= 0x80:
                varint += bytes([length & 0x7f | 0x80])
                length >>= 7
            nested = b"\x12" + varint + bytes([length]) + nested
        self.assertEqual(call(nested, timeout=WAIT), b"")  # Unknown fields: kept, not entered.
        self.assertEqual(self.client.call("Echo", b"alive"), b"alive")

    def test_messages_and_metadata_over_the_limit_are_refused(self):
        self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, self.client.call, "Echo", b"x" * (5 << 20))
        self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, self.client.sum, [b"x" * (5 << 20)])
        failure = self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, self.client.call, "Big")
        self.assertIn("ask for less", failure.details())
        # gRPC may end the connection over metadata: that one is the offender's alone.
        other = self.connect(self.server.socket)
        failure = self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, other.call, "Echo", b"",
                               metadata=(("x-long", "y" * 10000),))
        self.assertEqual(self.client.call("Echo", b"alive"), b"alive")

    def test_a_cancel_reaches_the_work(self):
        call = self.client.unary("Hold").future(b"", timeout=WAIT)
        self.client.wait_for(lambda s: s["held"] == 1)
        call.cancel()
        self.client.wait_for(lambda s: s["cancelled"] == 1 and s["ended"] == s["started"])

    def test_a_deadline_reaches_the_work(self):
        self.refused(grpc.StatusCode.DEADLINE_EXCEEDED, self.client.call, "Hold", b"", timeout=0.2)
        self.client.wait_for(lambda s: s["cancelled"] == 1 and s["ended"] == s["started"])

    def test_a_lost_connection_reaches_the_work(self):
        other = Client(self.server.socket)
        call = other.unary("Hold").future(b"", timeout=WAIT)
        self.client.wait_for(lambda s: s["held"] == 1)
        other.close()
        self.client.wait_for(lambda s: s["cancelled"] == 1 and s["ended"] == s["started"])
        self.assertEqual(call.exception(WAIT).code(), grpc.StatusCode.CANCELLED)

    def test_calls_that_wait_for_something_hold_no_worker(self):
        calls = [self.client.unary("Park").future(b"", timeout=WAIT) for _ in range(60)]
        self.client.wait_for(lambda s: s["parked"] == 60)
        self.assertEqual(self.client.call("Echo", b"x"), b"x")
        self.client.call("Release")
        self.assertEqual({c.result(WAIT) for c in calls}, {b"woken"})

    def test_a_slow_reader_holds_no_worker(self):
        stalled = [self.client.count(1000, 100000) for _ in range(3 * self.workers)]
        for stream in stalled:
            self.assertEqual(next(stream).process_id, 1)
        for _ in range(20):
            self.assertEqual(self.client.call("Echo", b"x"), b"x")
        for stream in stalled:
            stream.cancel()
        self.client.wait_for(lambda s: s["running"] == 1 and s["ended"] == s["started"])

    def test_a_client_stream_that_stalls_holds_no_worker(self):
        gate = threading.Event()

        def chunks():
            yield b"x"
            gate.wait(WAIT)

        results = queue.Queue()
        threads = [threading.Thread(target=lambda: results.put(self.client.sum(chunks())))
                   for _ in range(2 * self.workers)]
        for thread in threads:
            thread.start()
        self.client.wait_for(lambda s: s["running"] == 1 + len(threads))
        self.assertEqual(self.client.call("Echo", b"x"), b"x")
        gate.set()
        for thread in threads:
            thread.join(WAIT)
        self.assertEqual([results.get(timeout=WAIT) for _ in threads], [b"1 1"] * len(threads))

    def test_more_calls_than_the_queue_takes_are_refused_and_say_when_to_come_back(self):
        held = [self.client.unary("Hold").future(b"", timeout=WAIT) for _ in range(self.workers)]
        self.client.wait_for(lambda s: s["held"] == self.workers)
        waiting = [self.client.unary("Echo").future(b"", timeout=WAIT) for _ in range(200)]
        failures = []
        for _ in range(200 - 64):
            done = None
            while done is None:
                done = next((w for w in waiting if w.done()), None)
            waiting.remove(done)
            failures.append(done.exception())
        self.assertEqual({f.code() for f in failures}, {grpc.StatusCode.RESOURCE_EXHAUSTED})
        self.assertGreater(detail(failures[0]).retry_after_ms, 0)
        for call in held:
            call.cancel()
        for call in waiting:
            self.assertEqual(call.result(WAIT), b"")

    def test_a_method_outlives_the_lack_of_memory_for_its_next_call(self):
        self.client.call("Starve", b"on")
        for name in ("Echo", "EchoInline", "Write", "Starve", "Echo"):
            for _ in range(20):
                self.assertEqual(self.client.call(name, b"on"), b"" if name == "Starve" else b"on")
            self.assertEqual(self.client.sum([b"x"] * 5), b"5 5")
        self.client.call("Starve", b"off")
        calls = [self.client.unary("Echo").future(b"x", timeout=WAIT) for _ in range(40)]
        self.assertEqual({c.result(WAIT) for c in calls}, {b"x"})

    def test_health_answers_check_and_list(self):
        def method(name, kind, answer):
            return getattr(self.client.channel, kind)(
                "/grpc.health.v1.Health/" + name,
                lambda m: m.SerializeToString(), answer.FromString)

        serving = health.HealthCheckResponse.SERVING
        check = method("Check", "unary_unary", health.HealthCheckResponse)
        self.assertEqual(check(health.HealthCheckRequest(), timeout=WAIT).status, serving)
        self.assertEqual(
            check(health.HealthCheckRequest(service="sirix.storage.v1.Storage"), timeout=WAIT).status,
            health.HealthCheckResponse.NOT_SERVING)
        self.refused(grpc.StatusCode.NOT_FOUND, check, health.HealthCheckRequest(service="x"),
                     timeout=WAIT)
        everything = method("List", "unary_unary", health.HealthListResponse)(
            health.HealthListRequest(), timeout=WAIT)
        self.assertEqual({k: v.status for k, v in everything.statuses.items()},
                         {"": 1, "sirix.storage.v1.Storage": 2})

    def test_reflection_v1_and_v1alpha_describe_every_service(self):
        for module in (reflection, reflection_alpha):
            package = module.DESCRIPTOR.package
            info = self.client.channel.stream_stream(
                "/%s.ServerReflection/ServerReflectionInfo" % package,
                lambda m: m.SerializeToString(), module.ServerReflectionResponse.FromString)
            ask = module.ServerReflectionRequest
            answers = list(info(iter([
                ask(list_services="*"),
                ask(file_containing_symbol="sirix.storage.v1.Storage"),
                ask(file_by_filename="sirix/storage/v1/error.proto"),
                ask(file_containing_symbol="no.Such"),
                ask(all_extension_numbers_of_type="sirix.storage.v1.View"),
                ask(host="h"),
            ]), timeout=WAIT))
            self.assertEqual(
                sorted(s.name for s in answers[0].list_services_response.service),
                ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                 "grpc.reflection.v1alpha.ServerReflection", "sirix.storage.v1.Storage"])
            from google.protobuf import descriptor_pb2
            for answer, name in ((answers[1], "storage"), (answers[2], "error")):
                parsed = descriptor_pb2.FileDescriptorProto.FromString(
                    answer.file_descriptor_response.file_descriptor_proto[0])
                self.assertEqual(parsed.name, "sirix/storage/v1/%s.proto" % name)
            self.assertEqual(answers[3].error_response.error_code, 5)
            self.assertEqual(answers[3].original_request.file_containing_symbol, "no.Such")
            self.assertEqual(answers[4].all_extension_numbers_response.base_type_name,
                             "sirix.storage.v1.View")
            self.assertEqual(answers[5].error_response.error_code, 3)
            self.assertEqual(answers[5].valid_host, "h")

    def test_a_storm_of_cancels_and_deadlines_leaves_nothing_behind(self):
        def storm(seed):
            dice = random.Random(seed)
            client = Client(dice.choice(list(self.addresses.values())))
            for _ in range(60):
                timeout = dice.choice([0.001, 0.003, 0.01, 0.05, WAIT])
                kind = dice.randrange(5)
                try:
                    if kind == 0:
                        client.call("Echo", b"x" * dice.randrange(5000), timeout=timeout)
                    elif kind == 1:
                        call = client.unary("Hold").future(b"", timeout=timeout)
                        call.cancel()
                    elif kind == 2:
                        stream = client.count(50, dice.randrange(20000), timeout=timeout)
                        for i, _ in enumerate(stream):
                            if i == dice.randrange(60):
                                stream.cancel()
                    elif kind == 3:
                        client.sum([b"y" * 1000] * dice.randrange(30), timeout=timeout)
                    else:
                        call = client.unary("Park").future(b"", timeout=timeout)
                        call.cancel()
                except grpc.RpcError:
                    pass
            client.close()

        threads = [threading.Thread(target=storm, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.client.wait_for(lambda s: s["running"] == 1 and s["started"] == s["ended"])


LAST = """
import sys, grpc
channel = grpc.insecure_channel(sys.argv[1], [("grpc.enable_http_proxy", 0)])
call = channel.unary_unary("/toy.Toy/Last", lambda b: b, lambda b: b)
print(call(b"", timeout=30).partition(b"woken")[1].decode())
"""


class EndingTest(unittest.TestCase):
    def test_a_call_that_ends_within_the_grace_time_succeeds(self):
        server = Server(grace_ms=20000)
        client = Client(server.socket)
        stream = client.count(200, 50000)
        self.assertEqual(next(stream).process_id, 1)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(sum(1 for _ in stream), 199)
        self.assertEqual(server.end()[0], 0)
        client.close()

    def test_watches_of_health_tell_the_end_and_do_not_hold_it_up(self):
        server = Server(grace_ms=20000)
        client = Client(server.socket)
        watch = client.channel.unary_stream(
            "/grpc.health.v1.Health/Watch", lambda m: m.SerializeToString(),
            health.HealthCheckResponse.FromString)
        unknown = watch(health.HealthCheckRequest(service="x"), timeout=WAIT)
        self.assertEqual(next(unknown).status, health.HealthCheckResponse.SERVICE_UNKNOWN)
        stream = watch(health.HealthCheckRequest(), timeout=WAIT)
        self.assertEqual(next(stream).status, health.HealthCheckResponse.SERVING)
        before = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual([m.status for m in stream], [health.HealthCheckResponse.NOT_SERVING])
        self.assertEqual([m.status for m in unknown], [])
        self.assertEqual(server.end()[0], 0)
        self.assertLess(time.monotonic() - before, 15, "a watch held the shutdown")
        client.close()

    def test_a_client_that_stands_still_for_a_moment_gets_its_last_answer(self):
        server = Server(grace_ms=20000)
        child = subprocess.Popen([sys.executable, "-c", LAST, server.socket], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        other = Client(server.socket)
        other.wait_for(lambda s: s["parked"] == 1)
        other.close()
        child.send_signal(signal.SIGSTOP)
        server.process.send_signal(signal.SIGTERM)
        with self.assertRaises(subprocess.TimeoutExpired):  # Its connection waits for it.
            server.process.wait(0.8)
        child.send_signal(signal.SIGCONT)
        out, failure = child.communicate(timeout=WAIT)
        self.assertEqual((out, child.returncode), ("woken\n", 0), failure)
        self.assertEqual(server.end()[0], 0)

    def test_a_call_that_does_not_is_cancelled_and_given_back(self):
        server = Server(grace_ms=200)
        client = Client(server.socket)
        calls = [client.unary(name).future(b"", timeout=WAIT) for name in ("Hold", "Park")]
        client.wait_for(lambda s: s["held"] == 1 and s["parked"] == 1)
        code, started, ended = server.end()
        self.assertEqual((code, started), (0, ended))
        for call in calls:
            self.assertIn(call.exception(WAIT).code(),
                          (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED))
        client.close()

    def test_a_port_that_is_taken_is_refused(self):
        server = Server()
        second = subprocess.run([ARGS.server, "1", "0", "owner", server.tcp], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT)
        self.assertEqual(second.returncode, 1)
        self.assertIn("cannot listen at " + server.tcp, second.stderr)
        server.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--proto", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
