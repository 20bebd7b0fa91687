{{/*
Helm runs hooks by weight before it creates other resources, so all resources that the Job needs are hooks too. `helm uninstall` does not
delete hooks, so Helm deletes a failed Job as well, after it has printed the Job's log.
*/}}
{{- define "parley.hook" -}}
{{- if .root.Values.migrations.hook }}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
helm.sh/hook-output-log-policy: hook-failed
{{- end }}
{{- end -}}

{{- define "parley.migrations.from" -}}{{- end -}}

{{- define "parley.migrations.to" -}}
{{- $values := .root.Values -}}
{{ include "parley.toPeers" (dict "peers" $values.networkPolicy.database "port" (default $values.database.port $values.migrations.database.port)) }}
{{- end -}}
