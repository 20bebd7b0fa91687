{{/* The console's environment, ingress rules (from) and egress rules (to): see _lib/_deployment.tpl and _lib/_network.tpl. */}}

{{- define "parley.console.host" -}}
{{ regexReplaceAll ":[0-9]+$" (urlParse .Values.console.url).host "" }}
{{- end -}}

{{- define "parley.console.env" -}}
{{- $values := .root.Values -}}
- name: CONSOLE_URL
  value: {{ .values.url | quote }}
{{ include "parley.ssoEnv" .root }}
- name: OIDC_CLIENT_ID
  value: {{ .values.oidc.clientId | quote }}
- name: OIDC_SCOPE
  value: {{ .values.oidc.scope | quote }}
{{- with .values.oidc.resource }}
- name: OIDC_RESOURCE
  value: {{ . | quote }}
{{- end }}
{{- /* Uses ClusterIP Services: their addresses never become stale, unlike cached addresses of a headless Service. */}}
- name: CONVERSATION_URL
  value: {{ include "parley.opsUrl" (dict "root" .root "name" "conversation" "service" "conversation-clusterip") }}
- name: QUOTA_URL
  value: {{ include "parley.opsUrl" (dict "root" .root "name" "quota" "service" "quota-clusterip") }}
- name: EDGE_URL
  value: http://{{ include "parley.fullname" .root }}.{{ .root.Release.Namespace }}.svc:{{ $values.edge.service.port }}
- name: PUBLIC_EDGE_URL
  value: {{ .values.edgeUrl | quote }}
{{- if and $values.mtls.opsPorts (not $values.caBundle.existingConfigMap) }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/parley/tls/ca.crt
{{- end }}
{{- end -}}

{{- define "parley.console.from" -}}
- ports:
    - port: http
      protocol: TCP
  {{- with .root.Values.networkPolicy.owners }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with .root.Values.networkPolicy.prometheus }}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    - port: ops
      protocol: TCP
{{- end }}
{{- end -}}

{{- define "parley.console.to" -}}
{{- range list "conversation" "quota" }}
{{ include "parley.toCallee" (dict "root" $.root "callee" . "port" "ops") }}
{{- end }}
{{ include "parley.toCallee" (dict "root" .root "callee" "edge" "port" "http") }}
{{- with .root.Values }}
{{- range list (include "parley.urlPort" .sso.issuer) (include "parley.urlPort" .sso.jwksUrl) | uniq }}
{{ include "parley.toPeers" (dict "peers" $.root.Values.networkPolicy.sso "port" .) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Ingress from the console to a port of another component. Expects "root" and "port". */}}
{{- define "parley.fromConsole" -}}
{{- if .root.Values.console.enabled }}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "console") "port" .port) }}
{{- end }}
{{- end -}}

{{/* If the console is enabled, fails if a required value is missing or the console shares a host with the edge. */}}
{{- define "parley.console.validate" -}}
{{- with .Values.console -}}
{{- if .enabled -}}
{{- if not .url -}}
{{- fail "console.url is empty. Set it to the address that owners open, such as https://console.example.com." -}}
{{- end -}}
{{- if not .edgeUrl -}}
{{- fail "console.edgeUrl is empty. Set it to the public URL of the edge. The console writes it into the HTML that owners embed in their sites." -}}
{{- end -}}
{{- if not $.Values.sso.roleClaim -}}
{{- fail "sso.roleClaim is empty. The console needs the roles of the workspaces' members; see docs/console.md." -}}
{{- end -}}
{{- if has (include "parley.console.host" $) (concat $.Values.ingress.hosts $.Values.httpRoute.hostnames) -}}
{{- fail "console.url has a host of the edge. Give the console a host of its own, so that no page of the edge shares the console's origin." -}}
{{- end -}}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) -}}
{{- fail "console.httpRoute.parentRefs is empty. Set it to the Gateway." -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
