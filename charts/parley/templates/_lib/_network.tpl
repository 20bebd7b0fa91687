{{/*
A component's NetworkPolicy. It permits only the traffic that the component needs. The component defines the ingress rules in
"parley.<name>.from" and the egress rules in "parley.<name>.to".
*/}}
{{- define "parley.networkPolicy" -}}
{{- if .root.Values.networkPolicy.enabled -}}
{{- $from := include (printf "parley.%s.from" .name) . | trim -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "parley.name" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  podSelector:
    matchLabels:
      {{- include "parley.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- if $from }}
  ingress:
    {{- $from | nindent 4 }}
  {{- else }}
  ingress: []
  {{- end }}
  egress:
    {{- include "parley.toDns" .root | nindent 4 }}
    {{- include (printf "parley.%s.to" .name) . | trim | nindent 4 }}
    {{- if and .root.Values.tracing.endpoint (has .name (list "edge" "conversation" "quota" "llm-proxy")) }}
    {{- include "parley.toCollector" .root | nindent 4 }}
    {{- end }}
    {{- with get .root.Values.networkPolicy.extraEgress (camelcase .name | untitle) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end -}}

{{/* Ingress from components to a port of this one. Expects "callers" and "port". */}}
{{- define "parley.fromCallers" -}}
{{- $root := .root -}}
- from:
    {{- range .callers }}
    - podSelector:
        matchLabels:
          {{- include "parley.selectorLabels" (dict "root" $root "name" .) | nindent 10 }}
    {{- end }}
  ports:
    - port: {{ .port }}
{{- end -}}

{{/* Ingress to the ops port, from the cli pod and Prometheus. */}}
{{- define "parley.fromOpsClients" -}}
{{- if .root.Values.cli.enabled }}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "cli") "port" "ops") }}
{{- end }}
{{- with .root.Values.networkPolicy.prometheus }}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    - port: ops
{{- end }}
{{- end -}}

{{/* Egress to a port of another component. Expects "callee" and "port". */}}
{{- define "parley.toCallee" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "parley.selectorLabels" (dict "root" .root "name" .callee) | nindent 10 }}
  ports:
    - port: {{ .port }}
{{- end -}}

{{/* Egress to a port of `peers` outside the release: (dict "peers" … "port" …). Without peers, egress to that port of any address. */}}
{{- define "parley.toPeers" -}}
- ports:
    - port: {{ .port | int }}
  {{- with .peers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* The port of a URL, or its scheme's default port. */}}
{{- define "parley.urlPort" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "80" "443" (eq $url.scheme "http")) -}}
{{- end -}}

{{- define "parley.toCollector" -}}
{{ include "parley.toPeers" (dict "peers" .Values.networkPolicy.collector "port" (include "parley.urlPort" .Values.tracing.endpoint)) }}
{{- end -}}

{{- define "parley.toDns" -}}
- ports:
    {{- range .Values.networkPolicy.dnsPorts }}
    - port: {{ . }}
      protocol: UDP
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .Values.networkPolicy.dns }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "parley.toDatabase" -}}
{{ include "parley.toPeers" (dict "peers" .Values.networkPolicy.database "port" .Values.database.port) }}
{{- end -}}

{{- define "parley.toInternet" -}}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          {{- toYaml .Values.networkPolicy.privateRanges | nindent 10 }}
    - ipBlock:
        cidr: ::/0
        except: [fc00::/7, fe80::/10]
  ports:
    - port: 443
{{- end -}}
