"""Databases, resources, labels and branches, and what an operator asks for."""
import threading

import grpc

import case
import daemon
from case import delete, insert, update

PEOPLE = '{"users":[{"name":"Alice","age":1.10},{"name":"Bob","age":2}],"n":null,"ok":true}'


class Catalogue(case.DaemonCase):
    def test_databases_are_created_listed_in_pages_and_dropped(self):
        for name in (b"alpha", b"beta", b"gamma"):
            answer = self.client.CreateDatabase(database=name)
            self.assertEqual(answer.database.name, name)
            self.assertGreater(answer.database.stored_bytes, 0)
        first = self.client.ListDatabases(page_size=2)
        self.assertEqual([d.name for d in first.databases], [b"alpha", b"beta"])
        rest = self.client.ListDatabases(page_size=2, cursor=first.next_cursor)
        self.assertEqual([d.name for d in rest.databases], [b"db", b"gamma"])
        self.assertEqual(rest.next_cursor, b"")
        for name in (b"alpha", b"beta", b"gamma"):
            self.client.DropDatabase(database=name)
        self.assertEqual([d.name for d in self.client.ListDatabases().databases], [b"db"])

    def test_databases_made_and_dropped_at_once_give_true_errors_alone(self):
        wrong = []

        def churn():
            client = daemon.Client(self.daemon.owner, case.pb)
            for _ in range(40):
                for call in (client.CreateDatabase, client.DropDatabase):
                    try:
                        call(database=b"churned")
                    except grpc.RpcError as failure:
                        found = (failure.code().name, daemon.detail(failure, case.error).reason)
                        if found not in (("ALREADY_EXISTS", b"none"),
                                         ("NOT_FOUND", b"database_unknown")):
                            wrong.append((found, failure.details()))
                client.ListDatabases()
            client.close()

        threads = [threading.Thread(target=churn) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(self.client.Status().databases,
                         len(self.client.ListDatabases().databases))

    def test_a_dropped_database_can_be_made_anew_while_it_is_still_being_read(self):
        self.client.CreateDatabase(database=b"gone")
        self.load(b"r", "[" + ",".join(['"' + "x" * 1000 + '"'] * 3000) + "]", database=b"gone")
        stream = self.client.ReadDocument(database=b"gone", resource=b"r")
        next(stream)
        self.client.DropDatabase(database=b"gone")
        self.refused("NOT_FOUND", "database_unknown", self.client.ListResources, database=b"gone")
        self.client.CreateDatabase(database=b"gone")
        self.assertEqual(list(self.client.ListResources(database=b"gone").resources), [])
        self.assertEqual(len(b"".join(p.data for p in stream)), 3000 * 1003 + 1)
        self.client.DropDatabase(database=b"gone")

    def test_resources_are_created_with_revision_1_listed_and_dropped(self):
        self.client.CreateDatabase(database=b"res")
        for name in (b"b", b"a", b"c"):
            answer = self.client.CreateResource(database=b"res", resource=name)
            self.assertEqual((answer.result.revision, answer.result.parent_revision), (1, 0))
        first = self.client.ListResources(database=b"res", page_size=2)
        self.assertEqual([r.name for r in first.resources], [b"a", b"b"])
        self.assertEqual([r.revision for r in first.resources], [1, 1])
        rest = self.client.ListResources(database=b"res", cursor=first.next_cursor)
        self.assertEqual([r.name for r in rest.resources], [b"c"])
        self.client.DropResource(database=b"res", resource=b"b")
        self.assertEqual([r.name for r in self.client.ListResources(database=b"res").resources],
                         [b"a", b"c"])
        self.refused("NOT_FOUND", "resource_unknown", self.client.GetResource, database=b"res",
                     resource=b"b")

    def test_a_resource_tells_about_itself(self):
        name = self.resource(PEOPLE)
        self.client.CreateSnapshot(database=b"db", resource=name, name=b"label")
        self.client.CreateBranch(database=b"db", resource=name, name=b"side")
        info = self.client.GetResource(database=b"db", resource=name, with_path_summary=True)
        self.assertEqual(info.storage_type, b"lmdb")
        self.assertEqual((info.revision_count, info.newest_revision, info.oldest_revision),
                         (1, 1, 1))
        self.assertEqual(info.text_bytes, len(PEOPLE))
        self.assertEqual(info.node_count, 10)
        self.assertEqual(info.created_at_us, info.last_modified_at_us)
        self.assertEqual([b.name for b in info.branches], [b"main", b"side"])
        self.assertEqual([s.name for s in info.snapshots], [b"label"])
        self.assertEqual([(p.path, p.kinds, p.any_member) for p in info.paths], [
            (b"", 1 << 1, False), (b"/n", 1 << 6, False), (b"/ok", 1 << 5, False),
            (b"/users", 1 << 2, False), (b"/users/[]", 1 << 1, False),
            (b"/users/[]/age", 1 << 4, False), (b"/users/[]/name", 1 << 3, False)])
        self.assertEqual((info.next_paths_cursor, info.paths_truncated), (b"", False))
        first = self.client.GetResource(database=b"db", resource=name,
                                        view=case.pb.View(revision=1))
        self.assertEqual((first.revision, first.node_count, first.text_bytes),
                         (1, 10, len(PEOPLE)))
        bare = self.client.GetResource(database=b"db", resource=self.resource())
        self.assertEqual((bare.revision, bare.node_count, bare.text_bytes), (1, 0, 0))

    def paths(self, name, **fields):
        """All paths, page by page; how many pages; whether some are missing."""
        found, pages, cursor = [], 0, b""
        while pages == 0 or cursor:
            info = self.client.GetResource(database=b"db", resource=name, with_path_summary=True,
                                           paths_cursor=cursor, **fields)
            found += info.paths
            pages, cursor = pages + 1, info.next_paths_cursor
        return found, pages, info.paths_truncated

    def test_paths_are_those_of_all_revisions_and_of_none_without_a_value(self):
        pb = case.pb
        name = self.resource('{"a":[1]}')
        place = {"database": b"db", "resource": name}
        self.client.CreateBranch(name=b"side", **place)
        self.apply(name, insert('"x"', name=b"*", node_key=1), branch=b"side")
        self.apply(name, delete(self.node(name, "/a").node_key))
        known = [(b"", 1 << 1), (b"/*", 1 << 3), (b"/a", 1 << 2), (b"/a/[]", 1 << 4)]
        for view in (pb.View(), pb.View(revision=1), pb.View(branch=b"side")):
            found, pages, missing = self.paths(name, view=view)
            self.assertEqual([(p.path, p.kinds) for p in found], known)
            self.assertEqual((pages, missing, found[1].any_member), (1, False, False))
        self.assertEqual(self.paths(self.resource(), view=pb.View(revision=1))[0], [])
        self.assertEqual(self.refused("INVALID_ARGUMENT", "cursor", self.client.GetResource,
                                      with_path_summary=True, paths_cursor=b"0" * 16,
                                      **place).field, b"paths_cursor")

    def test_many_names_fold_and_many_paths_come_in_pages(self):
        members = ['"%s%d":1' % (chr(65 + i % 26), i) for i in range(300)]
        name = self.resource("{" + ",".join(members) + "}")
        found = self.paths(name)[0]
        self.assertEqual((len(found), found[-1].path, found[-1].any_member), (258, b"/*", True))
        self.assertEqual([p.path for p in found[1:-1]], sorted(p.path for p in found[1:-1]))

        text = "1"
        for i in range(60):  # Names of 64 bytes, 60 levels deep, 100 leaves at each.
            leaves = ",".join('"%s%02d":null' % ("l" * 62, k) for k in range(100))
            text = '{"%s%02d":%s,%s}' % ("d" * 62, i, text, leaves)
        name = self.resource(text)
        found, pages, missing = self.paths(name)
        self.assertEqual((len(found), missing), (1 + 60 * 101, False))
        self.assertGreater(pages, 8)
        self.assertEqual(len({p.path for p in found}), len(found))
        for parent, path in zip(found, found[1:]):
            self.assertIn(path.path.rsplit(b"/", 1)[0],
                          (parent.path, *[parent.path.rsplit(b"/", k)[0] for k in range(1, 62)]))

        text = "[" + ",".join('{"a%d":{%s}}' % (i, ",".join('"b%d":1' % k for k in range(200)))
                              for i in range(60)) + "]"
        found, pages, missing = self.paths(self.resource(text))
        self.assertEqual((len(found), pages, missing), (10000, 1, True))


class Labels(case.DaemonCase):
    def test_a_label_stays_unless_it_is_told_to_move(self):
        pb = case.pb
        name = self.resource("1")
        self.apply(name, update(1, "2"))
        place = {"database": b"db", "resource": name}
        first = self.client.CreateSnapshot(name=b"before", view=pb.View(revision=1), **place)
        self.assertEqual((first.snapshot.revision, first.previous_revision, first.changed),
                         (1, 0, True))
        same = self.client.CreateSnapshot(name=b"before", view=pb.View(revision=1), **place)
        self.assertFalse(same.changed)
        self.refused("ALREADY_EXISTS", "none", self.client.CreateSnapshot, name=b"before", **place)
        moved = self.client.CreateSnapshot(name=b"before", replace=True, **place)
        self.assertEqual((moved.snapshot.revision, moved.previous_revision), (2, 1))
        self.client.CreateSnapshot(name=b"main", view=pb.View(revision=1), **place)
        main = self.client.CreateSnapshot(name=b"main", **place)
        self.assertEqual((main.snapshot.revision, main.previous_revision), (2, 1))
        self.assertEqual([s.name for s in self.client.ListSnapshots(**place).snapshots],
                         [b"before", b"main"])
        page = self.client.ListSnapshots(page_size=1, **place)
        self.assertEqual([s.name for s in self.client.ListSnapshots(
            cursor=page.next_cursor, **place).snapshots], [b"main"])
        self.assertEqual(self.client.DeleteSnapshot(name=b"main", **place).revision, 2)
        self.assertEqual(self.json(name, view=pb.View(snapshot=b"main")), 2)  # The branch.

    def test_a_branch_is_promoted_when_main_is_on_its_way(self):
        pb = case.pb
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        branch = self.client.CreateBranch(name=b"work", **place).branch
        self.assertEqual((branch.revision, branch.base_revision, branch.expires_at_us), (1, 1, 0))
        self.apply(name, update(1, "2"), branch=b"work")
        done = self.client.Promote(branch=b"work", **place)
        self.assertEqual((done.revision, done.previous_revision, done.changed), (2, 1, True))
        self.assertFalse(self.client.Promote(branch=b"work", **place).changed)
        self.apply(name, update(1, "3"))
        self.apply(name, update(1, "4"), branch=b"work")
        self.refused("FAILED_PRECONDITION", "not_fast_forward", self.client.Promote,
                     branch=b"work", **place)
        forced = self.client.Promote(branch=b"work", replace=True, options=pb.WriteOptions(
            expected_revision=3), **place)
        self.assertEqual((forced.revision, forced.previous_revision), (4, 3))
        self.assertEqual(self.json(name), 4)
        self.assertEqual(self.client.DeleteBranch(name=b"work", **place).revision, 4)
        self.assertEqual([b.name for b in self.client.ListBranches(**place).branches], [b"main"])

    def test_a_branch_whose_time_is_over_is_refused_and_then_gone(self):
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        now = self.client.Status().now_us
        self.client.CreateBranch(name=b"brief", expires_at_us=now + 300000, **place)
        self.assertEqual(self.json(name, view=case.pb.View(branch=b"brief")), 1)
        while self.client.Status().now_us < now + 300000:
            pass
        with self.assertRaises(grpc.RpcError) as caught:
            self.text(name, view=case.pb.View(branch=b"brief"))
        self.assertIn(daemon.detail(caught.exception, case.error).reason,
                      (b"branch_expired", b"branch_unknown"))
        while len(self.client.ListBranches(**place).branches) > 1:
            pass
        self.client.CreateBranch(name=b"brief", **place)

    def test_a_branch_whose_time_is_over_is_deleted_when_asked(self):
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        for _ in range(20):  # The sweep, each second, may be faster.
            now = self.client.Status().now_us
            self.client.CreateBranch(name=b"brief", expires_at_us=now + 100000, **place)
            while self.client.Status().now_us < now + 100000:
                pass
            try:
                deleted = self.client.DeleteBranch(name=b"brief", **place)
                break
            except grpc.RpcError as failure:
                self.assertEqual(daemon.detail(failure, case.error).reason, b"branch_unknown")
        self.assertEqual(deleted.revision, 1)
        self.assertEqual(self.refused("NOT_FOUND", "branch_unknown", self.client.DeleteBranch,
                                      name=b"brief", **place).field, b"name")

    def test_clients_that_make_and_delete_branches_see_true_errors_alone(self):  # G24
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        wrong = []

        def churn(number):
            client = daemon.Client(self.daemon.owner, case.pb)
            for i in range(25):
                branch = b"b%d" % ((number + i) % 4)
                for call in (client.CreateBranch, client.DeleteBranch):
                    try:
                        call(name=branch, **place)
                    except grpc.RpcError as failure:
                        if failure.code().name not in ("ALREADY_EXISTS", "NOT_FOUND"):
                            wrong.append(failure.details())
                names = [b.name for b in client.ListBranches(**place).branches]
                if names[0] != b"main" or names != [b"main"] + sorted(names[1:]):
                    wrong.append(names)
            client.close()

        threads = [threading.Thread(target=churn, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_branches_are_listed_in_pages_with_their_heads(self):
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        for i in range(5):
            self.client.CreateBranch(name=b"b%d" % i, **place)
        seen, cursor = [], b""
        while True:
            page = self.client.ListBranches(page_size=2, cursor=cursor, **place)
            seen += page.branches
            cursor = page.next_cursor
            if not cursor:
                break
        self.assertEqual([b.name for b in seen], [b"main"] + [b"b%d" % i for i in range(5)])
        self.assertEqual({b.revision for b in seen}, {1})
        self.assertEqual(len({b.timestamp_us for b in seen}), 1)


class Administration(case.DaemonCase):
    def test_status_tells_who_asks_and_how_the_daemon_is(self):
        for address, principal, role in ((self.daemon.owner, b"owner", case.pb.ROLE_OPERATOR),
                                         (self.daemon.tcp, b"owner", case.pb.ROLE_OPERATOR),
                                         (self.daemon.reader, b"reader", case.pb.ROLE_READER)):
            client = daemon.Client(address, case.pb)
            status = client.Status()
            client.close()
            self.assertEqual((status.principal, status.role), (principal, role))
        self.assertEqual(status.process_id, self.daemon.process.pid)
        self.assertEqual((status.databases, status.databases_open), (1, status.databases_open))
        self.assertGreater(status.resident_bytes, 1 << 20)
        self.assertFalse(status.embedded or status.draining)

    def test_verify_reads_everything_and_finds_nothing_wrong(self):
        name = self.resource(PEOPLE)
        self.resource("[1]")
        one = list(self.client.Verify(database=b"db", resource=name))[-1].end
        self.assertEqual((one.resources, one.revisions, one.problems), (1, 1, 0))
        everything = list(self.client.Verify(database=b"db"))[-1].end
        self.assertEqual((everything.resources, everything.revisions, everything.problems),
                         (2, 2, 0))

    def test_attach_answers_once_and_stays(self):
        call = self.client.Attach(client=b"test")
        first = next(call)
        self.assertEqual(first.process_id, self.daemon.process.pid)
        self.assertGreaterEqual(self.client.Status().calls_running, 2)
        call.cancel()


if __name__ == "__main__":
    case.main()
