{{/*
A start is over once the service can do its work, its database included: a release that cannot reach it is never rolled out.
From then on readiness and liveness ask the process alone, so that a database that is away for a moment takes no pod from its peers.
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
{{- /* The kubelet shows no certificate. */}}
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
