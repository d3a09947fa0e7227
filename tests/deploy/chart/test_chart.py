#!/usr/bin/python3
"""The chart: rendered with Helm's template engine, checked against Kubernetes' schemas and types, and its
settings taken by the programs. There is no Helm and no cluster here: `helm lint`, an installation and an
upgrade are not tested.

    test_chart.py BUILD_DIR [unittest arguments]
"""
import fcntl
import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
CHART = os.path.join(ROOT, "deploy", "helm", "sirix")
BUILD = ""
LIMIT_S = 200

LEAST = {"storaged": {"insecure": True},
         "gateway": {"callers": {"existingSecret": "c"}, "stateKey": {"existingSecret": "s"}}}
ALONE = {"storaged": {"tls": {"existingSecret": "t", "clientCertificates": True},
                      "principals": {"existingSecret": "p"}}, "gateway": {"enabled": False}}
GUARDED = {"storaged": {**ALONE["storaged"], "tls": {"existingSecret": "t"}},
           "operatorToken": {"existingSecret": "o"},
           "gateway": {**LEAST["gateway"], "storageToken": {"existingSecret": "w"}},
           "backup": {"enabled": True, "databases": ["a"], "persistence": {"existingClaim": "b"}}}
MUTUAL = {**GUARDED, "storaged": ALONE["storaged"], "operatorTls": {"existingSecret": "q"},
          "gateway": {**GUARDED["gateway"], "storageTls": {"existingSecret": "x"}}}
ALL = {
    "global": {"imageRegistry": "registry.example.com/x", "imagePullSecrets": [{"name": "pull"}]},
    "storaged": {
        "insecure": True, "image": {"digest": "sha256:" + "a" * 64},
        "persistence": {"size": "100Gi", "storageClassName": "fast"},
        "settings": {"workers": 8}, "nodeSelector": {"disk": "ssd"}, "priorityClassName": "high",
        "tolerations": [{"key": "a", "operator": "Exists"}], "podAnnotations": {"a": "b"},
        "podLabels": {"c": "d"}, "extraArgs": ["--map-max=1000"],
        "extraEnv": [{"name": "X", "value": "text"}],
        "extraVolumes": [{"name": "v", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "v", "mountPath": "/v"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}},
    "gateway": {
        "callers": {"existingSecret": "c"}, "stateKey": {"existingSecret": "s"},
        "tls": {"existingSecret": "g"}, "publicUrl": "https://mcp.example.com/mcp",
        "autoscaling": {"enabled": True},
        "ingress": {"enabled": True, "host": "mcp.example.com", "className": "nginx",
                    "tlsSecret": "i", "annotations": {"a": "b"}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                                       "whenUnsatisfiable": "ScheduleAnyway"}]},
    "backup": {"enabled": True, "databases": ["shop", "log"],
               "persistence": {"existingClaim": "backups"}},
    "networkPolicy": {"storagedClients": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}],
                      "metricsClients": [{"podSelector": {"matchLabels": {"p": "m"}}}],
                      "gatewayClients": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
                      "gatewayEgress": [{"ports": [{"protocol": "TCP", "port": 443}]}]},
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
}


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, timeout=LIMIT_S, check=False, **more)


def install_schemas():
    """The packages of the lock, once; two builds may ask at once."""
    folder = os.path.join(BUILD, "npm-chart")
    os.makedirs(folder, exist_ok=True)
    lock, done = os.path.join(HERE, "npm", "package-lock.json"), os.path.join(folder, "installed")
    with open(os.path.join(folder, ".lock"), "w", encoding="utf-8") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not (os.path.exists(done) and filecmp.cmp(lock, done, False)):
            for name in ("package.json", "package-lock.json"):
                shutil.copy(os.path.join(HERE, "npm", name), folder)
            made = run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
                       cwd=folder)
            assert made.returncode == 0, made.stderr
            shutil.copy(lock, done)
    return os.path.join(folder, "node_modules")


class Chart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="sirix_chart_")
        cls.modules = install_schemas()
        cls.renderer = os.path.join(BUILD, "render_chart")
        env = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "",
               "GOCACHE": os.path.join(BUILD, "go-cache"), "CGO_ENABLED": "0"}
        made = run("go", "build", "-o", cls.renderer, os.path.join(HERE, "render.go"), env=env)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def place(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def render(self, values, code=0, **env):
        path = self.place("values.yaml", yaml.safe_dump(values))
        done = run(self.renderer, CHART, "rel", "space", path, env={**os.environ, **env})
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def manifests(self, values):
        return [m for m in yaml.safe_load_all(self.render(values)) if m]

    def one(self, manifests, kind, ending=""):
        found = [m for m in manifests if m["kind"] == kind and m["metadata"]["name"].endswith(ending)]
        self.assertEqual(len(found), 1, (kind, ending))
        return found[0]

    def pods(self, manifests):
        """The pod template of everything that makes pods."""
        for m in manifests:
            if m["kind"] == "Pod":
                yield m["metadata"]["name"], m["spec"]
            elif m["kind"] in ("StatefulSet", "Deployment"):
                yield m["metadata"]["name"], m["spec"]["template"]["spec"]
            elif m["kind"] == "CronJob":
                yield m["metadata"]["name"], m["spec"]["jobTemplate"]["spec"]["template"]["spec"]

    # --- Kubernetes ----------------------------------------------------------------------------------

    def test_every_manifest_fits_the_schema_and_the_type_of_its_kind(self):
        lines = []
        for values, count in ((LEAST, 9), (ALONE, 4), (GUARDED, 11), (MUTUAL, 11), (ALL, 17)):
            manifests = self.manifests(values)
            self.assertGreaterEqual(len(manifests), count)
            lines += [json.dumps(m) for m in manifests]
        done = run("node", os.path.join(HERE, "validate.js"), self.modules, input="\n".join(lines))
        self.assertEqual((done.stdout, done.returncode), ("%d manifests\n" % len(lines), 0))

    def test_the_check_finds_what_is_wrong(self):
        good = self.one(self.manifests(LEAST), "StatefulSet")
        for change in ({"replicas": "one"}, {"replicaz": 1}):
            bad = {**good, "spec": {**good["spec"], **change}}
            done = run("node", os.path.join(HERE, "validate.js"), self.modules,
                       input=json.dumps(bad))
            self.assertEqual(done.returncode, 1, change)

    def test_names_are_unique_and_selectors_select_their_pods(self):
        manifests = self.manifests(ALL)
        names = [(m["kind"], m["metadata"]["name"]) for m in manifests]
        self.assertEqual(len(names), len(set(names)))
        for m in manifests:
            if m["kind"] in ("StatefulSet", "Deployment"):
                labels = m["spec"]["template"]["metadata"]["labels"]
                self.assertLessEqual(m["spec"]["selector"]["matchLabels"].items(), labels.items())
                service = self.one(manifests, "Service", m["metadata"]["name"])
                self.assertLessEqual(service["spec"]["selector"].items(), labels.items())
                ports = {p["name"] for p in m["spec"]["template"]["spec"]["containers"][0]["ports"]}
                self.assertIn(service["spec"]["ports"][0]["targetPort"], ports)

    # --- What operators demand -----------------------------------------------------------------------

    def test_every_pod_passes_the_restricted_level(self):
        pods = list(self.pods(self.manifests(ALL)))
        self.assertEqual(len(pods), 4)
        for name, spec in pods:
            with self.subTest(name):
                pod = spec["securityContext"]
                self.assertTrue(pod["runAsNonRoot"])
                self.assertEqual(pod["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertEqual(pod["fsGroupChangePolicy"], "OnRootMismatch")
                self.assertFalse(spec["automountServiceAccountToken"])
                for container in spec["containers"] + spec.get("initContainers", []):
                    context = container["securityContext"]
                    self.assertFalse(context["allowPrivilegeEscalation"])
                    self.assertTrue(context["readOnlyRootFilesystem"])
                    self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                    self.assertNotIn(":latest", container["image"])
                    resources = container["resources"]
                    self.assertEqual(resources["requests"]["memory"], resources["limits"]["memory"])
                for volume in spec["volumes"] if "volumes" in spec else ():
                    self.assertNotIn("hostPath", volume)

    def test_the_storage_is_one_pod_with_a_volume_of_its_own(self):
        spec = self.one(self.manifests(LEAST), "StatefulSet")["spec"]
        self.assertEqual(spec["replicas"], 1)
        self.assertEqual(spec["volumeClaimTemplates"][0]["spec"]["accessModes"], ["ReadWriteOncePod"])
        self.assertEqual(spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"], "Retain")
        pod = spec["template"]["spec"]
        self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], 20 + 5 + 5)
        container = pod["containers"][0]
        self.assertEqual(container["livenessProbe"]["grpc"], {"port": 50051})
        self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/healthz/ready")
        self.assertGreaterEqual(container["startupProbe"]["failureThreshold"] *
                                container["startupProbe"]["periodSeconds"], 300)

    def test_with_tls_the_probe_speaks_http(self):
        pod = self.one(self.manifests(ALONE), "StatefulSet")["spec"]["template"]["spec"]
        self.assertEqual(pod["containers"][0]["livenessProbe"]["httpGet"]["path"], "/healthz/alive")
        secrets = {v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v}
        self.assertEqual(secrets, {"t", "p"})

    def test_the_gateway_is_replaced_without_a_gap(self):
        spec = self.one(self.manifests(LEAST), "Deployment")["spec"]
        self.assertEqual(spec["replicas"], 2)
        self.assertEqual(spec["strategy"]["rollingUpdate"]["maxUnavailable"], 0)
        self.assertNotIn("replicas", self.one(self.manifests(ALL), "Deployment")["spec"])
        self.one(self.manifests(ALL), "HorizontalPodAutoscaler")

    def test_a_file_that_its_owner_alone_may_read_is_no_secrets(self):
        pod = self.one(self.manifests(ALL), "Deployment")["spec"]["template"]["spec"]
        volumes = {v["name"]: v for v in pod["volumes"]}
        mounts = {m["mountPath"]: volumes[m["name"]] for m in pod["containers"][0]["volumeMounts"]}
        self.assertEqual(mounts["/etc/sirix/state"]["emptyDir"]["medium"], "Memory")
        self.assertEqual(pod["initContainers"][0]["command"],
                         ["install", "-m", "0600", "/secret/state", "/etc/sirix/state/state"])

    def test_who_calls_a_guarded_storage_shows_a_token_and_asks_for_its_certificate(self):
        flags = "--storage rel-sirix-storaged:50051 --token-file /operator/token --tls-ca /tls/ca.crt"
        manifests = self.manifests(GUARDED)
        pods = dict(self.pods(manifests))
        backup = pods["rel-sirix-backup"]
        self.assertIn(flags + "\n", backup["containers"][0]["args"][0])
        self.assertEqual(" ".join(pods["rel-sirix-test"]["containers"][0]["args"]), flags)
        for spec in (backup, pods["rel-sirix-test"]):
            mounts = {m["name"] for m in spec["containers"][0]["volumeMounts"]}
            self.assertLessEqual({"operator", "tls"}, mounts)
            self.assertEqual(mounts, {v["name"] for v in spec["volumes"]})
        self.assertNotIn("rel-sirix-test", dict(self.pods(self.manifests(ALONE))))
        flags += " --tls-cert /operator-tls/tls.crt --tls-key /operator-tls/tls.key"
        pods = dict(self.pods(self.manifests(MUTUAL)))
        self.assertIn(flags + "\n", pods["rel-sirix-backup"]["containers"][0]["args"][0])
        self.assertEqual(" ".join(pods["rel-sirix-test"]["containers"][0]["args"]), flags)
        for name in ("rel-sirix-backup", "rel-sirix-test"):
            self.assertIn("operator-tls", {v["name"] for v in pods[name]["volumes"]})
        self.assertNotIn("rel-sirix-test", dict(self.pods(self.manifests(
            {**MUTUAL, "operatorTls": {}, "backup": {}}))))
        for flag in ("--token-file", "--tls-ca", "--tls-cert", "--tls-key", "--storage"):
            self.assertIn(flag, run(os.path.join(BUILD, "bin", "sirixctl"), "status", "--help").stdout)

    def test_the_gateway_has_the_files_that_it_shows_to_a_guarded_storage(self):
        files = {"tokenFile": ("w", "token"), "tlsCa": ("t", "ca.crt"), "tlsCert": ("x", "tls.crt"),
                 "tlsKey": ("x", "tls.key")}
        for values, keys in ((LEAST, ()), (GUARDED, ("tokenFile", "tlsCa")), (MUTUAL, tuple(files))):
            manifests = self.manifests(values)
            text = self.one(manifests, "ConfigMap", "-gateway")["data"]["sirix-mcp.json"]
            settings = json.loads(text)["server"]
            self.assertEqual(files.keys() & settings.keys(), set(keys))
            pod = self.one(manifests, "Deployment")["spec"]["template"]["spec"]
            self.assertEqual(pod["securityContext"]["fsGroup"], 10001)
            volumes = {v["name"]: v for v in pod["volumes"]}
            mounts = {m["mountPath"]: m for m in pod["containers"][0]["volumeMounts"]}
            for key in keys:
                folder, name = os.path.split(settings[key])
                self.assertTrue(mounts[folder]["readOnly"])
                secret = volumes[mounts[folder]["name"]]["secret"]
                self.assertEqual((secret["secretName"], name), files[key])
                # Of the group, which is the pod's (fsGroup); nobody else may read it.
                self.assertEqual(secret["defaultMode"], 0o440)
                # The Secret of storaged has its private key, too.
                self.assertEqual([item["key"] for item in secret.get("items", ())],
                                 ["ca.crt"] if key == "tlsCa" else [])

    def test_a_certificate_may_stand_for_the_token(self):
        values = {**MUTUAL, "operatorToken": {},
                  "gateway": {**MUTUAL["gateway"], "storageToken": {}}}
        manifests = self.manifests(values)
        text = self.one(manifests, "ConfigMap", "-gateway")["data"]["sirix-mcp.json"]
        self.assertNotIn("tokenFile", text)
        self.assertNotIn("--token-file", json.dumps(manifests))

    def test_the_network_lets_in_who_must_come_in(self):
        manifests = self.manifests(ALL)
        storaged = self.one(manifests, "NetworkPolicy", "-storaged")["spec"]
        self.assertEqual(storaged["egress"], [])
        self.assertEqual([p["port"] for rule in storaged["ingress"] for p in rule["ports"]],
                         [50051, 9464])
        labels = [p["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
                  for p in storaged["ingress"][0]["from"] if "podSelector" in p]
        self.assertEqual(labels, ["gateway", "backup"])
        gateway = self.one(manifests, "NetworkPolicy", "-gateway")["spec"]
        self.assertEqual([p["port"] for rule in gateway["egress"] for p in rule["ports"]],
                         [50051, 53, 53, 443])

    def test_a_change_of_settings_rolls_the_pods(self):
        def mark(values, kind="StatefulSet"):
            template = self.one(self.manifests(values), kind)["spec"]["template"]
            return template["metadata"]["annotations"]["checksum/settings"]

        other = {**LEAST, "storaged": {"insecure": True, "settings": {"slow-call": 5}}}
        self.assertNotEqual(mark(LEAST), mark(other))
        self.assertEqual(mark(LEAST), mark(LEAST))
        other = {**GUARDED, "storaged": {**GUARDED["storaged"], "tls": {"existingSecret": "t2"}}}
        self.assertNotEqual(mark(GUARDED, "Deployment"), mark(other, "Deployment"))

    # --- Values --------------------------------------------------------------------------------------

    def test_what_may_not_be_left_open_fails_with_a_reason(self):
        for values, word in (
                ({}, "storaged.insecure=true"),
                ({**LEAST, "gateway": {}}, "gateway.callers.existingSecret"),
                ({**LEAST, "gateway": {"callers": {"existingSecret": "c"}}}, "gateway.stateKey"),
                ({**GUARDED, "gateway": LEAST["gateway"]}, "gateway.storageToken.existingSecret is"),
                ({**MUTUAL, "gateway": GUARDED["gateway"]}, "gateway.storageTls.existingSecret is"),
                ({**MUTUAL, "operatorTls": {}}, "operatorTls.existingSecret is needed"),
                ({**LEAST, "operatorToken": {"existingSecret": "o"}}, "operatorToken.existingSecret needs"),
                ({**LEAST, "gateway": GUARDED["gateway"]}, "gateway.storageToken.existingSecret needs"),
                ({**LEAST, "backup": {"enabled": True}}, "backup.persistence.existingClaim"),
                ({**GUARDED, "operatorToken": {}}, "operatorToken.existingSecret")):
            self.assertIn(word, self.render(values, code=1))

    def values_check(self, values):
        merged = yaml.safe_load(self.render(values, RENDER_VALUES="1"))
        path = self.place("values.json", json.dumps(merged))
        return run("node", os.path.join(HERE, "validate.js"), self.modules,
                   os.path.join(CHART, "values.schema.json"), path)

    def test_the_schema_of_values_takes_the_right_ones_and_no_others(self):
        for values in ({}, LEAST, ALONE, GUARDED, MUTUAL, ALL):
            done = self.values_check(values)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for values in ({"storged": {}}, {"storaged": {"insecure": "yes"}},
                       {"storaged": {"persistence": {"size": "much"}}},
                       {"storaged": {"settings": {"data": "/x"}}},
                       {"storaged": {"image": {"digest": "abc"}}}, {"gateway": {"replicas": 0}},
                       {"gateway": {"storageToken": "w"}}, {"operatorTls": {"secret": "q"}},
                       {"backup": {"databases": ["a b; rm -rf /"]}},
                       {"storaged": {"persistence": {"accessModes": ["ReadWriteMany"]}}}):
            self.assertEqual(self.values_check(values).returncode, 1, values)

    # --- The programs --------------------------------------------------------------------------------

    def test_storaged_takes_its_settings(self):
        for values in (LEAST, ALL):
            text = self.one(self.manifests(values), "ConfigMap", "-storaged")["data"]["storaged.conf"]
            path = self.place("storaged.conf", text.replace("/var/lib/sirix/data", self.dir + "/d"))
            done = run(os.path.join(BUILD, "bin", "storaged"), "--config", path, "--check-config")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("--listen 0.0.0.0:50051\n", done.stdout)
            self.assertIn("--ops 0.0.0.0:9464\n", done.stdout)

    def test_the_gateway_takes_its_settings(self):
        for values in (LEAST, GUARDED, MUTUAL, ALL):
            text = self.one(self.manifests(values), "ConfigMap", "-gateway")["data"]["sirix-mcp.json"]
            settings = json.loads(text)["server"]
            self.assertEqual(settings["storage"], "rel-sirix-storaged:50051")
            # Files of Secrets are not here: only their names are looked at.
            for name in ("callersFile", "httpTlsCert", "httpTlsKey"):
                settings.pop(name, None)
            settings.update({"httpListen": "127.0.0.1:8760",
                             "stateKeyFile": self.place("state", "ab" * 32 + "\n")})
            path = self.place("mcp.json", json.dumps({"server": settings}))
            done = run(os.path.join(BUILD, "bin", "sirix-mcp"), "--config", path, "--check-config")
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    BUILD = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
