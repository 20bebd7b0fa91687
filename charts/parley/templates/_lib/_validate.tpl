{{/* Rules that involve several values, which the JSON schema cannot express. */}}
{{- define "parley.validate" -}}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled) (not .Values.edge.trustedProxies) -}}
{{- fail "edge.trustedProxies is empty, so all visitors behind the ingress or gateway would share one rate limit. Set it to the CIDRs from which the ingress or gateway connects." -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.hosts is empty. Set it to the public host name." -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty. Set it to the Gateway." -}}
{{- end -}}
{{- if and .Values.mtls.enabled .Values.mtls.certManager (not .Values.mtls.issuerRef) -}}
{{- fail "mtls.issuerRef is empty. Set it to the cert-manager issuer, or set mtls.certManager to false and create the Secrets." -}}
{{- end -}}
{{- if and .Values.llmProxy.config .Values.llmProxy.existingConfigMap -}}
{{- fail "llmProxy.config and llmProxy.existingConfigMap are mutually exclusive. Set only one." -}}
{{- end -}}
{{- if .Values.doctor.publicKey -}}
{{- if not .Values.doctor.origin -}}
{{- fail "doctor.origin is empty. Set it to an origin that doctor.publicKey allows." -}}
{{- end -}}
{{- if not (include "parley.doctor.url" .) -}}
{{- fail "doctor.url is empty, and neither ingress nor httpRoute has a host. Set it to the public URL." -}}
{{- end -}}
{{- end -}}
{{- range $name := list "issuer" "audience" "jwksUrl" -}}
{{- if not (get $.Values.sso $name) -}}
{{- fail (printf "sso.%s is empty. The edge needs it to check access tokens; see docs/install/sso.md." $name) -}}
{{- end -}}
{{- end -}}
{{- include "parley.validate.connections" . -}}
{{- end -}}

{{/* Services with a server of their own do not count. */}}
{{- define "parley.validate.connections" -}}
{{- $total := 0 -}}
{{- $explanations := list -}}
{{- range $name, $values := dict "conversation" .Values.conversation "quota" .Values.quota "llm-proxy" .Values.llmProxy -}}
{{- if not $values.databaseHost -}}
{{- $connections := include "parley.connections" (dict "name" $name "values" $values) | fromJson -}}
{{- $total = add $total (int $connections.count) -}}
{{- $explanations = append $explanations $connections.explanation -}}
{{- end -}}
{{- end -}}
{{- with .Values.database.maxConnections -}}
{{- if gt $total (int .) -}}
{{- fail (printf "the services may open %d database connections during a rollout, and database.maxConnections is %d: %s, as (replicas + surge) × databasePool. Lower databasePool, replicas or autoscaling.maxReplicas, or raise the limit; see docs/install/sizing.md." $total (int .) (join ", " $explanations)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
