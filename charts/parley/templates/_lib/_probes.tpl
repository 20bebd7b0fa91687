{{/*
The startup probe succeeds once the service and its database work, so a release that cannot reach its database is not rolled out.
Readiness and liveness check the process only, so a short outage of the database does not remove every pod.
*/}}
{{- define "parley.probes" -}}
{{- $tls := .root.Values.mtls.enabled -}}
{{- $pod := include "parley.pod" . | fromJson -}}
startupProbe:
  httpGet:
    path: /healthz/ready
    port: ops
    {{- include "parley.opsScheme" . | nindent 4 }}
  {{- toYaml $pod.startupProbe | nindent 2 }}
{{- if has .name (list "edge" "console") }}
readinessProbe:
  httpGet:
    path: /healthz/ready
    port: http
  {{- toYaml $pod.readinessProbe | nindent 2 }}
livenessProbe:
  httpGet:
    path: /healthz/live
    port: http
  {{- toYaml $pod.livenessProbe | nindent 2 }}
{{- else if $tls }}
{{- /* The kubelet has no client certificate, so it cannot probe the gRPC port. */}}
readinessProbe:
  httpGet:
    path: /healthz/live
    port: ops
    {{- include "parley.opsScheme" . | nindent 4 }}
  {{- toYaml $pod.readinessProbe | nindent 2 }}
livenessProbe:
  httpGet:
    path: /healthz/live
    port: ops
    {{- include "parley.opsScheme" . | nindent 4 }}
  {{- toYaml $pod.livenessProbe | nindent 2 }}
{{- else }}
readinessProbe:
  grpc:
    port: {{ include "parley.port" (dict "name" .name "port" "grpc") }}
  {{- toYaml $pod.readinessProbe | nindent 2 }}
livenessProbe:
  grpc:
    port: {{ include "parley.port" (dict "name" .name "port" "grpc") }}
  {{- toYaml $pod.livenessProbe | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Kubernetes does not verify the certificate of a probed port. */}}
{{- define "parley.opsScheme" -}}
{{- if .root.Values.mtls.opsPorts -}}
scheme: HTTPS
{{- end }}
{{- end -}}
