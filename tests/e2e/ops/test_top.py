"""sirixctl top: what goes on between two looks, for people and for programs."""
import json
import subprocess
import threading

import programs


class Top(programs.Case):
    def test_one_view_is_json_with_what_happened_in_the_interval(self):
        server = self.start()
        self.ctl(server, "import", "db/r", "-", stdin=b"[]")
        stop = threading.Event()

        def write():
            while not stop.is_set():
                self.ctl(server, "insert", "db/r", "", "1", "--position", "first")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(20):
                view = self.ask(server, "top", "--once", "--interval", "500")
                if view["commits"]:
                    break
        finally:
            stop.set()
            writer.join()
        self.assertGreaterEqual(view["intervalMicroseconds"], 400000)
        self.assertGreater(view["commits"], 0)
        self.assertGreater(view["groupWorks"], 0)
        self.assertGreater(view["groupWriteMicroseconds"], 0)
        rows = {row["method"]: row for row in view["methods"]}
        self.assertEqual(rows["Apply"]["failed"], 0)
        self.assertGreater(rows["Apply"]["ended"], 0)
        self.assertGreaterEqual(rows["Apply"]["p99Microseconds"],
                                rows["Apply"]["medianMicroseconds"])
        # The one that asks is running while it is answered.
        self.assertGreaterEqual(rows["Status"]["running"], 1)

    def test_words_have_a_line_a_method_and_end_after_their_count(self):
        server = self.start()
        text = self.ctl(server, "top", "--count", "2", "--interval", "60")[0].decode()
        self.assertEqual(text.count("\nmethod "), 2)
        self.assertEqual(text.count("\nStatus "), 2)
        self.assertIn("calls    ", text)
        self.assertNotIn("\033", text)

    def test_it_goes_on_until_it_is_interrupted(self):
        server = self.start()
        process = subprocess.Popen([programs.SIRIXCTL, "top", "--json", "--interval", "60",
                                    "--storage", server.address], stdout=subprocess.PIPE)
        for _ in range(3):
            self.assertIn("methods", json.loads(process.stdout.readline()))
        process.terminate()
        process.stdout.close()
        self.assertIn(process.wait(programs.LIMIT_S), (0, 130))

    def test_a_reader_may_look(self):
        server = self.start()
        self.assertIn("methods", self.ask(server.reader, "top", "--once", "--interval", "60"))

    def test_an_interval_is_at_least_50_milliseconds(self):
        self.assertIn(b"--interval", self.ctl("unix:/nowhere", "top", "--interval", "1",
                                              code=64)[1])


if __name__ == "__main__":
    programs.main()
