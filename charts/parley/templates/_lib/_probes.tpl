{{/*
A pod gets no traffic, and a rollout does not continue, until the service can do its work:
- conversation and quota need their database's schema, which the startup probe checks;
- the edge needs the other services, which the readiness probe checks: an edge that starts during an outage waits and is not restarted;
- the llm-proxy waits for no dependency: it generates replies without its database;
- the console waits for no dependency: it serves its pages without the other services.
A pod that has become ready stays ready during an outage of a dependency. Otherwise every replica would become unready at the same time. The
liveness probe checks only the process.
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

{{/* The scheme of a probe of the ops port. Kubernetes does not verify the certificate of a probed port. */}}
{{- define "parley.opsScheme" -}}
{{- if .root.Values.mtls.opsPorts -}}
scheme: HTTPS
{{- end }}
{{- end -}}
