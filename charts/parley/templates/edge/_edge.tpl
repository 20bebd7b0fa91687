{{- define "parley.edge.env" -}}
{{- $values := .root.Values -}}
- name: CONVERSATION_TARGET
  value: {{ include "parley.target" (dict "root" .root "name" "conversation") }}
- name: QUOTA_TARGET
  value: {{ include "parley.target" (dict "root" .root "name" "quota") }}
- name: LLM_TARGET
  value: {{ include "parley.target" (dict "root" .root "name" "llm-proxy") }}
- name: JWT_ISSUER
  value: {{ $values.sso.issuer | quote }}
- name: JWT_AUDIENCE
  value: {{ $values.sso.audience | quote }}
- name: JWKS_URL
  value: {{ $values.sso.jwksUrl | quote }}
- name: JWT_WORKSPACE_CLAIM
  value: {{ $values.sso.workspaceClaim | quote }}
{{- with .values.trustedProxies }}
- name: TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
- name: MAX_STREAMS
  value: {{ .values.maxStreams | int | quote }}
- name: MAX_STREAMS_PER_CLIENT
  value: {{ .values.maxStreamsPerClient | int | quote }}
{{- if $values.redis.enabled }}
{{ include "parley.secretEnv" (dict "root" .root "env" "REDIS_URL" "secret" $values.redis.existingSecret) }}
{{- end }}
{{- end -}}

{{- define "parley.edge.from" -}}
- ports:
    - port: http
  {{- with .root.Values.networkPolicy.visitors }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- include "parley.fromOpsClients" . }}
{{- end -}}

{{- define "parley.edge.to" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- range list "conversation" "quota" "llm-proxy" }}
{{ include "parley.toCallee" (dict "root" $.root "callee" . "port" "grpc") }}
{{- end }}
{{- if .root.Values.redis.enabled }}
{{ include "parley.toPeers" (dict "peers" $policy.redis "port" $policy.redisPort) }}
{{- end }}
{{ include "parley.toPeers" (dict "peers" $policy.sso "port" (include "parley.urlPort" .root.Values.sso.jwksUrl)) }}
{{- end -}}
