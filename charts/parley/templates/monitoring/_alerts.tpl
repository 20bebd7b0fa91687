{{/*
Renders the groups of files/alerts.yaml with the settings of prometheusRule.alerts. A threshold is the number before the comment
`# threshold` in an alert's expression. Some alerts compare a share with a burn rate times the threshold. If this product is 1 or more, the
template fails, because a share is never above 1.
*/}}
{{- define "parley.alertGroups" -}}
{{- $unused := deepCopy .Values.prometheusRule.alerts -}}
{{- $groups := list -}}
{{- range $group := (.Files.Get "files/alerts.yaml" | fromYaml).groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- $settings := get $.Values.prometheusRule.alerts ($rule.alert | default "") | default dict -}}
{{- if $rule.alert }}{{ $_ := unset $unused $rule.alert }}{{ end -}}
{{- with $settings.severity }}{{ $_ := set $rule.labels "severity" . }}{{ end -}}
{{- with $settings.for }}{{ $_ := set $rule "for" . }}{{ end -}}
{{- if hasKey $settings "threshold" -}}
{{- $threshold := printf "%v # threshold" $settings.threshold -}}
{{- if not (contains "# threshold" $rule.expr) -}}
{{- fail (printf "prometheusRule.alerts.%s.threshold: this alert has no threshold to set. Remove the value." $rule.alert) -}}
{{- end -}}
{{- range regexFindAll "[0-9.]+ \\* [0-9.]+ # threshold" $rule.expr -1 -}}
{{- $burnRate := splitList " " . | first -}}
{{- if ge (mulf $burnRate $settings.threshold) 1.0 -}}
{{- fail (printf "prometheusRule.alerts.%s.threshold: must be less than 1/%s, or one of the conditions of the alert can never be true." $rule.alert $burnRate) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $rule "expr" (regexReplaceAll "[0-9.]+ # threshold" $rule.expr $threshold) -}}
{{- end -}}
{{- if ne (get $settings "enabled" | toString) "false" -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- $groups = append $groups (set $group "rules" $rules) -}}
{{- end -}}
{{- range $name, $_ := $unused -}}
{{- fail (printf "prometheusRule.alerts.%s: there is no such alert. docs/operations/dashboards.md lists the names." $name) -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end -}}
