{{/*
The startup probe succeeds once the service and its database work, so a release that cannot reach its database is not rolled out.
Readiness and liveness check the process only, so a short outage of the database does not remove every pod.
*/}}
{{- define "parley.probes" -}}
{{- $tls := .root.Values.mtls.enabled -}}
startupProbe:
  httpGet:
    path: /healthz/ready
    port: ops
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 60
{{- if eq .name "edge" }}
readinessProbe:
  httpGet:
    path: /healthz/ready
    port: http
  periodSeconds: 5
  timeoutSeconds: 2
  failureThreshold: 2
livenessProbe:
  httpGet:
    path: /healthz/live
    port: http
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- else if $tls }}
{{- /* The kubelet has no client certificate, so it cannot probe the gRPC port. */}}
readinessProbe:
  httpGet:
    path: /healthz/live
    port: ops
  periodSeconds: 5
  timeoutSeconds: 2
  failureThreshold: 2
livenessProbe:
  httpGet:
    path: /healthz/live
    port: ops
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- else }}
readinessProbe:
  grpc:
    port: {{ include "parley.port" (dict "name" .name "port" "grpc") }}
  periodSeconds: 5
  timeoutSeconds: 2
  failureThreshold: 2
livenessProbe:
  grpc:
    port: {{ include "parley.port" (dict "name" .name "port" "grpc") }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}
{{- end -}}
