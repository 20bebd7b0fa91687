{{/*
A component's NetworkPolicy. The component defines its ingress rules in "parley.<name>.from" and its egress rules in "parley.<name>.to". Each port
has a protocol, and empty lists are left out. Otherwise the API server would add the protocol and drop the lists, and each `kubectl apply` would find a
difference.
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
  {{- with $from }}
  ingress:
    {{- . | nindent 4 }}
  {{- end }}
  egress:
    {{- include "parley.toDns" .root | nindent 4 }}
    {{- include (printf "parley.%s.to" .name) . | trim | nindent 4 }}
    {{- if and .root.Values.tracing.endpoint (has .name (list "edge" "conversation" "quota" "llm-proxy" "console")) }}
    {{- include "parley.toCollector" .root | nindent 4 }}
    {{- end }}
    {{- with get .root.Values.networkPolicy.extraEgress (camelcase .name | untitle) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end -}}

{{/* Ingress from other components to a port of this component: (dict "root" … "callers" … "port" …). */}}
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
      protocol: TCP
{{- end -}}

{{/* Ingress to the ops port from the components `cli` and `trial-setup`, and from Prometheus. */}}
{{- define "parley.fromOpsClients" -}}
{{- $callers := concat (ternary (list "cli") list .root.Values.cli.enabled) (ternary (list "trial-setup") list .root.Values.trial.enabled) }}
{{- with $callers }}
{{ include "parley.fromCallers" (dict "root" $.root "callers" . "port" "ops") }}
{{- end }}
{{- with .root.Values.networkPolicy.prometheus }}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    - port: ops
      protocol: TCP
{{- end }}
{{- end -}}

{{/* Egress to a port of another component: (dict "root" … "callee" … "port" …). */}}
{{- define "parley.toCallee" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "parley.selectorLabels" (dict "root" .root "name" .callee) | nindent 10 }}
  ports:
    - port: {{ .port }}
      protocol: TCP
{{- end -}}

{{/* Egress to a port of `peers` outside the release; without peers, to this port of any address: (dict "peers" … "port" …). */}}
{{- define "parley.toPeers" -}}
- ports:
    - port: {{ .port | int }}
      protocol: TCP
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
{{- if include "parley.usesTrialPostgres" . -}}
{{ include "parley.toCallee" (dict "root" . "callee" "trial-postgres" "port" "postgres") }}
{{- else -}}
{{ include "parley.toPeers" (dict "peers" .Values.networkPolicy.database "port" .Values.database.port) }}
{{- end -}}
{{- end -}}

{{/*
Egress to the internet: (dict "root" … "proxies" …). "proxies" is a list of proxy URLs, one for each kind of connection that the component
opens. A kind without a proxy has "".
*/}}
{{- define "parley.toInternet" -}}
{{- if has "" .proxies -}}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          {{- toYaml .root.Values.networkPolicy.privateRanges | nindent 10 }}
    - ipBlock:
        {{- /* The public IPv6 addresses, without the special ranges that packages/service-kit/src/egress/policy.ts refuses. */}}
        cidr: 2000::/3
        except: ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"]
  ports:
    - port: 443
      protocol: TCP
{{- end }}
{{- $ports := list }}
{{- range without .proxies "" }}
{{- $ports = append $ports (include "parley.urlPort" .) }}
{{- end }}
{{- range uniq $ports }}
{{ include "parley.toPeers" (dict "peers" $.root.Values.networkPolicy.proxies "port" .) }}
{{- end }}
{{- end -}}

{{- define "parley.toSso" -}}
{{ include "parley.toPeers" (dict "peers" .Values.networkPolicy.sso "port" (include "parley.urlPort" (include "parley.sso" . | fromJson).jwksUrl)) }}
{{- end -}}

{{/* Egress to the identity provider, for a component with admin services. Empty without `sso.roleClaim`: see "parley.adminSsoEnv". */}}
{{- define "parley.adminToSso" -}}
{{- if .Values.sso.roleClaim }}
{{ include "parley.toSso" . }}
{{- end }}
{{- end -}}
