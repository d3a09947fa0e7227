{{- define "sirix.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- define "sirix.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else if contains (include "sirix.name" .) .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "sirix.name" .) | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sirix.selector" -}}
app.kubernetes.io/name: {{ include "sirix.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "sirix.labels" -}}
{{ include "sirix.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: sirix
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "sirix.image" -}}
{{- $registry := .root.Values.global.imageRegistry -}}
{{- $name := .image.repository -}}
{{- if $registry }}{{ $name = printf "%s/%s" $registry $name }}{{ end -}}
{{- if .image.digest -}}
{{ $name }}@{{ .image.digest }}
{{- else -}}
{{ $name }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "sirix.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "sirix.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* How sirixctl reaches storaged: flags, mounts and volumes. */ -}}
{{- define "sirix.ctlFlags" -}}
--storage {{ include "sirix.fullname" . }}-storaged:50051
{{- if .Values.operatorToken.existingSecret }} --token-file /operator/token{{ end -}}
{{- if .Values.storaged.tls.existingSecret }} --tls-ca /tls/ca.crt{{ end -}}
{{- if .Values.operatorTls.existingSecret }} --tls-cert /operator-tls/tls.crt --tls-key /operator-tls/tls.key{{ end -}}
{{- end -}}

{{- define "sirix.ctlMounts" -}}
{{- if .Values.operatorToken.existingSecret }}
- {name: operator, mountPath: /operator, readOnly: true}
{{- end }}
{{- if .Values.storaged.tls.existingSecret }}
- {name: tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- if .Values.operatorTls.existingSecret }}
- {name: operator-tls, mountPath: /operator-tls, readOnly: true}
{{- end }}
{{- end -}}

{{- define "sirix.ctlVolumes" -}}
{{- if .Values.operatorToken.existingSecret }}
- name: operator
  secret:
    secretName: {{ .Values.operatorToken.existingSecret }}
    defaultMode: 288
{{- end }}
{{- if .Values.storaged.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ .Values.storaged.tls.existingSecret }}
    defaultMode: 288
    items:
      - {key: ca.crt, path: ca.crt}
{{- end }}
{{- if .Values.operatorTls.existingSecret }}
- name: operator-tls
  secret:
    secretName: {{ .Values.operatorTls.existingSecret }}
    defaultMode: 288
{{- end }}
{{- end -}}

{{- /* What may not be left open, said before anything is made. */ -}}
{{- define "sirix.check" -}}
{{- $s := .Values.storaged -}}
{{- if and (not $s.insecure) (or (not $s.tls.existingSecret) (not $s.principals.existingSecret)) -}}
{{- fail "storaged.tls.existingSecret and storaged.principals.existingSecret are needed, or storaged.insecure=true to listen to the cluster without them" -}}
{{- end -}}
{{- $mutual := and $s.tls.existingSecret $s.tls.clientCertificates -}}
{{- $shown := dict "gateway.storageToken" .Values.gateway.storageToken "gateway.storageTls" .Values.gateway.storageTls "operatorToken" .Values.operatorToken "operatorTls" .Values.operatorTls -}}
{{- range $value, $it := $shown -}}
{{- if and $it.existingSecret (not $s.tls.existingSecret) -}}
{{- fail (printf "%s.existingSecret needs storaged.tls.existingSecret: without TLS nothing is shown to another machine" $value) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.gateway.enabled $mutual (not .Values.gateway.storageTls.existingSecret) -}}
{{- fail "gateway.storageTls.existingSecret is needed with gateway.enabled and storaged.tls.clientCertificates" -}}
{{- end -}}
{{- if and .Values.gateway.enabled $s.principals.existingSecret (not .Values.gateway.storageToken.existingSecret) (not (and $mutual .Values.gateway.storageTls.existingSecret)) -}}
{{- fail "gateway.storageToken.existingSecret is needed with gateway.enabled and storaged.principals.existingSecret (or storaged.tls.clientCertificates and gateway.storageTls.existingSecret): storaged must know the gateway" -}}
{{- end -}}
{{- if and .Values.backup.enabled $mutual (not .Values.operatorTls.existingSecret) -}}
{{- fail "operatorTls.existingSecret is needed with backup.enabled and storaged.tls.clientCertificates" -}}
{{- end -}}
{{- if and .Values.gateway.enabled (not .Values.gateway.callers.existingSecret) (not .Values.gateway.settings.oauthIssuer) -}}
{{- fail "gateway.callers.existingSecret or gateway.settings.oauthIssuer is needed: the gateway serves others only when it knows who they are" -}}
{{- end -}}
{{- if and .Values.gateway.enabled (gt (int .Values.gateway.replicas) 1) (not .Values.gateway.stateKey.existingSecret) -}}
{{- fail "gateway.stateKey.existingSecret is needed: all replicas must be able to open what one has sealed" -}}
{{- end -}}
{{- if and .Values.backup.enabled $s.principals.existingSecret (not .Values.operatorToken.existingSecret) (not (and $mutual .Values.operatorTls.existingSecret)) -}}
{{- fail "operatorToken.existingSecret is needed with backup.enabled and storaged.principals.existingSecret (or storaged.tls.clientCertificates and operatorTls.existingSecret)" -}}
{{- end -}}
{{- if and .Values.backup.enabled (or (not .Values.backup.persistence.existingClaim) (not .Values.backup.databases)) -}}
{{- fail "backup.persistence.existingClaim and backup.databases are needed with backup.enabled" -}}
{{- end -}}
{{- end -}}
