#!/usr/bin/python3
"""sirixctl quota: shown, set one limit at a time, and in force.

    test_quota.py SIRIXCTL STORAGED [unittest arguments]
"""

import ctl


class Quota(ctl.Folder):
    def test_limits_are_shown_and_set_one_at_a_time(self):
        self.load({"n": 1})
        self.assertEqual(self.run_ctl("quota", "db")[0],
                         "bytes      no limit\nsnapshots  no limit\nbranches   no limit\n"
                         "calls      no limit\n")
        self.run_ctl("quota", "db", "--branches", "2")
        self.assertEqual(self.ask("quota", "db", "--bytes", "1000000000"),
                         {"bytes": 1000000000, "snapshots": 0, "branches": 2, "calls": 0})
        self.run_ctl("branch", "create", "db/res", "one")
        self.assertEqual(self.error("branch", "create", "db/res", "two", code=75)["reason"], "quota")
        self.assertEqual(self.ask("quota", "db", "--branches", "0")["branches"], 0)
        self.run_ctl("branch", "create", "db/res", "two")
        self.assertEqual(self.run_ctl("quota", "--principal", "ci", "--calls", "8")[0],
                         "calls      8\n")

    def test_what_is_no_quota_is_refused(self):
        self.load({"n": 1})
        for args in ((), ("db", "--principal", "ci"), ("db", "--bytes", "many")):
            self.run_ctl("quota", *args, code=64)
        self.run_ctl("quota", "--principal", "ci", "--bytes", "1", code=65)


if __name__ == "__main__":
    ctl.main()
