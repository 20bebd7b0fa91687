{{/* The mounts of a component's volumes. "parley.volumes" defines the volumes in the same order. */}}
{{- define "parley.mounts" -}}
{{- $root := .root -}}
{{- if include "parley.secretFiles" . | fromJsonArray }}
- name: secret-files
  mountPath: /etc/parley/secrets
  readOnly: true
{{- end }}
{{- if and $root.Values.mtls.enabled .mtls }}
- name: {{ default "tls" .tlsVolume }}
  mountPath: /etc/parley/tls
  readOnly: true
{{- end }}
{{- if and .schema $root.Values.database.tls.ca.existingSecret }}
- name: database-ca
  mountPath: /etc/parley/database-ca
  readOnly: true
{{- end }}
{{- if and (eq .name "llm-proxy") (include "parley.llmConfigMapName" $root) }}
- name: llm-config
  mountPath: /etc/parley/llm
  readOnly: true
{{- end }}
{{- if and (eq .name "cli") $root.Values.mtls.opsPorts }}
- name: ops-ca
  mountPath: /etc/parley/ops-ca
  readOnly: true
{{- end }}
{{- if eq .name "trial-setup" }}
- name: setup
  mountPath: /setup
  readOnly: true
{{- end }}
{{- if $root.Values.caBundle.existingConfigMap }}
- name: ca-bundle
  mountPath: /etc/parley/ca-bundle
  readOnly: true
{{- end }}
{{- with (include "parley.pod" . | fromJson).extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The certificate of the component "owner": (dict "root" $ "volume" "tls" "owner" "edge" "optional" false). */}}
{{- define "parley.tlsVolume" -}}
{{- $secret := printf "%s-tls" (include "parley.name" (dict "root" .root "name" .owner)) -}}
- name: {{ .volume }}
  {{- /* The mode 288 is octal 0440. YAML 1.2 parsers read 0440 as the decimal number 440. */}}
  {{- with .root.Values.mtls.trustedAuthorities }}
  {{- if .existingConfigMap }}
  projected:
    defaultMode: 288
    sources:
      - secret:
          name: {{ $secret }}
          {{- if $.optional }}
          optional: true
          {{- end }}
          items:
            - key: tls.crt
              path: tls.crt
            - key: tls.key
              path: tls.key
      - configMap:
          name: {{ .existingConfigMap }}
          items:
            - key: {{ .key }}
              path: ca.crt
  {{- else }}
  secret:
    secretName: {{ $secret }}
    defaultMode: 288
    {{- if $.optional }}
    optional: true
    {{- end }}
  {{- end }}
  {{- end }}
{{- end -}}

{{/* With "optionalSecrets", a component's pods start without a Secret or key that is missing, and can report it. */}}
{{- define "parley.volumes" -}}
{{- $root := .root -}}
{{- with include "parley.secretFiles" . | fromJsonArray }}
- name: secret-files
  projected:
    sources:
      {{- range . }}
      - secret:
          name: {{ include "parley.secretNameFor" (merge (dict "root" $root) .) }}
          {{- if $.optionalSecrets }}
          optional: true
          {{- end }}
          items:
            - key: {{ default .env .key }}
              path: {{ .env }}
      {{- end }}
{{- end }}
{{- if and $root.Values.mtls.enabled .mtls }}
{{- $owner := ternary "edge" .name (eq true .preflight) }}
{{ include "parley.tlsVolume" (dict "root" $root "volume" "tls" "owner" $owner "optional" .optionalSecrets) }}
{{- if eq .name "migrations" }}
{{- range list "conversation" "quota" "llm-proxy" }}
{{ include "parley.tlsVolume" (dict "root" $root "volume" (printf "tls-%s" .) "owner" . "optional" $.optionalSecrets) }}
{{- end }}
{{- end }}
{{- end }}
{{- with $root.Values.database.tls.ca }}
{{- if and $.schema .existingSecret }}
- name: database-ca
  secret:
    secretName: {{ .existingSecret }}
    {{- if $.optionalSecrets }}
    optional: true
    {{- end }}
    items:
      - key: {{ .key }}
        path: ca.crt
{{- end }}
{{- end }}
{{- if eq .name "llm-proxy" }}
{{- with include "parley.llmConfigMapName" $root }}
- name: llm-config
  configMap:
    name: {{ . }}
{{- end }}
{{- end }}
{{- if and (eq .name "cli") $root.Values.mtls.opsPorts }}
- name: ops-ca
  {{- with $root.Values.mtls.trustedAuthorities }}
  {{- if .existingConfigMap }}
  configMap:
    name: {{ .existingConfigMap }}
    items:
      - key: {{ .key }}
        path: ca.crt
  {{- else }}
  secret:
    secretName: {{ include "parley.name" (dict "root" $root "name" "edge") }}-tls
    items:
      - key: ca.crt
        path: ca.crt
  {{- end }}
  {{- end }}
{{- end }}
{{- if eq .name "trial-setup" }}
- name: setup
  configMap:
    name: {{ include "parley.name" . }}
{{- end }}
{{- with $root.Values.caBundle }}
{{- if .existingConfigMap }}
- name: ca-bundle
  configMap:
    name: {{ .existingConfigMap }}
    items:
      - key: {{ .key }}
        path: ca.crt
{{- end }}
{{- end }}
{{- with (include "parley.pod" . | fromJson).extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Empty if the values give the llm-proxy no configuration. */}}
{{- define "parley.llmConfigMapName" -}}
{{- if .Values.llmProxy.existingConfigMap -}}
{{ .Values.llmProxy.existingConfigMap }}
{{- else if .Values.llmProxy.config -}}
{{ include "parley.name" (dict "root" . "name" "llm-proxy") }}
{{- end -}}
{{- end -}}
