{{/*
The preflight checks what the edge needs: its Secret, Redis, the identity provider and its certificate. The migration Job runs it before an
installation or upgrade, and `helm test` runs it strictly. There is no test in a trial, which has no identity provider.
*/}}
{{- define "parley.preflight.isTest" -}}
{{- if not .Values.trial.enabled }}true{{ end -}}
{{- end -}}

{{/*
The preflight's container: (dict "component" … "isStrict" true). The component has "preflight", so that it gets the edge's secrets. With "mtls", the
preflight checks the edge's certificate.
*/}}
{{- define "parley.preflight.container" -}}
{{- $root := .component.root -}}
- name: preflight
  image: {{ include "parley.image" (dict "root" $root "values" $root.Values.edge) }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  terminationMessagePolicy: FallbackToLogsOnError
  command: [node, src/preflight.ts{{ if .isStrict }}, --strict{{ end }}]
  securityContext:
    {{- include "parley.containerSecurity" .component | nindent 4 }}
  env:
    {{- $secrets := include "parley.secretFileEnv" .component }}
    {{- printf "%s%s%s%s" (include "parley.ssoEnv" $root) (include "parley.extraCaEnv" .component) $secrets (include "parley.edge.redisEnv" $root) | nindent 4 }}
    {{- if and $root.Values.mtls.enabled .component.mtls }}
    - name: GRPC_TLS_DIR
      value: /etc/parley/tls
    - name: EDGE_RPC_TLS_NAME
      value: {{ include "parley.host" (dict "root" $root "name" "edge") }}
    {{- end }}
    {{- with $root.Values.edge.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  resources:
    {{- toYaml $root.Values.migrations.resources | nindent 4 }}
  {{- with include "parley.containerExtras" .component | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Ingress rules of the preflight's pods: none. The empty template must exist, because "parley.networkPolicy" includes "parley.<name>.from". */}}
{{- define "parley.preflight.from" -}}{{- end -}}

{{/* What the edge may connect to outside the release. */}}
{{- define "parley.preflight.to" -}}
{{ include "parley.edge.toExternal" . | trim }}
{{- with .root.Values.networkPolicy.extraEgress.edge }}
{{ toYaml . }}
{{- end }}
{{- end -}}
