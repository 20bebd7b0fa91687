{{/*
A pod gets no traffic, and a rollout does not continue, until the service can do its work. Conversation and quota need their database's schema,
which their startup probe checks. The edge needs the other services, which its readiness checks, so that an edge that starts during an outage
waits instead of being restarted. The llm-proxy needs neither, because it generates without its database.
Afterwards an outage that every replica shares removes no pod. Liveness checks the process only.
*/}}
{{- define "parley.probes" -}}
{{- $tls := .root.Values.mtls.enabled -}}
{{- $pod := include "parley.pod" . | fromJson -}}
startupProbe:
  httpGet:
    path: /healthz/{{ ternary "live" "ready" (has .name (list "edge" "console")) }}
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
