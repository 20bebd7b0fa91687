{{/* Checks values that depend on each other, because the JSON schema cannot express such dependencies. Fails at the first mistake. */}}
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
{{- if and .Values.mtls.opsPorts (not .Values.mtls.enabled) -}}
{{- fail "mtls.opsPorts needs mtls.enabled. Set mtls.enabled to true too." -}}
{{- end -}}
{{- /* NODE_EXTRA_CA_CERTS names only one file. In the setup Job, this is the file with the Kubernetes API's certificate authority. */ -}}
{{- if and .Values.mtls.opsPorts .Values.trial.enabled -}}
{{- fail "mtls.opsPorts cannot be used in a trial: the setup Job does not trust the ops ports' certificates. Set mtls.opsPorts to false, or install without trial.enabled." -}}
{{- end -}}
{{- if and .Values.mtls.opsPorts .Values.caBundle.existingConfigMap (or .Values.cli.enabled .Values.console.enabled) (not .Values.caBundle.containsOpsAuthority) -}}
{{- fail "caBundle.containsOpsAuthority is false: with mtls.opsPorts, the cli pod and the console read caBundle only, so it must also contain the authority of the ops ports' certificates. Add it, and set caBundle.containsOpsAuthority to true." -}}
{{- end -}}
{{- with .Values.edge.autoscaling -}}
{{- if and .enabled .kedaTriggers .streamsPerPod -}}
{{- fail "edge.autoscaling.streamsPerPod has no effect with edge.autoscaling.kedaTriggers. Set it to 0, and add a trigger for open streams; see docs/install/sizing.md." -}}
{{- end -}}
{{- end -}}
{{- if and .Values.conversation.email.enabled (not .Values.conversation.email.from) -}}
{{- fail "conversation.email.from is empty. Set it to the sender of e-mail, such as Parley <parley@example.com>." -}}
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
{{- if not (get (include "parley.sso" $ | fromJson) $name) -}}
{{- fail (printf "sso.%s is empty. The edge needs it to check access tokens; see docs/install/sso.md." $name) -}}
{{- end -}}
{{- end -}}
{{- $roles := concat (.Values.sso.ownerRoles | default list) (.Values.sso.agentRoles | default list) (.Values.sso.viewerRoles | default list) -}}
{{- if and .Values.sso.roleClaim (not $roles) -}}
{{- fail "sso.ownerRoles, sso.agentRoles and sso.viewerRoles are empty. Set at least one of them to the values of sso.roleClaim that mean owner, agent or viewer." -}}
{{- end -}}
{{- if and (not .Values.sso.roleClaim) $roles -}}
{{- fail "sso.roleClaim is empty. Set it to the claim with the roles." -}}
{{- end -}}
{{- include "parley.console.validate" . -}}
{{- include "parley.validate.router" . -}}
{{- include "parley.validate.connections" . -}}
{{- if .Values.networkPolicy.enabled -}}
{{- include "parley.validate.networkPolicy" . -}}
{{- end -}}
{{- end -}}

{{/* Fails if the router has too few shards, or if a service has a server beside the router: each shard has the schemas of all services. */}}
{{- define "parley.validate.router" -}}
{{- if .Values.database.router.enabled -}}
{{- if lt (int .Values.database.router.shards) 2 -}}
{{- fail "database.router.shards is below 2. Set it to the number of logical shards behind the router; see docs/install/scaling.md." -}}
{{- end -}}
{{- range $name, $values := dict "conversation" .Values.conversation "quota" .Values.quota "llmProxy" .Values.llmProxy -}}
{{- if or $values.databaseHost (get $.Values.migrations.database.hosts $name) -}}
{{- fail (printf "database.router and a server for %s are mutually exclusive, because every shard has the schemas of all services. Remove %s.databaseHost and migrations.database.hosts.%s." $name $name $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails if the services may open more than database.maxConnections connections. A service with its own databaseHost does not count. */}}
{{- define "parley.validate.connections" -}}
{{- /* A service has a pool of 4 connections for each shard: SHARD_CONNECTIONS in packages/service-kit/src/database/shards.ts. */ -}}
{{- $shardPools := ternary (mul 4 .Values.database.router.shards) 0 .Values.database.router.enabled -}}
{{- $pools := ternary "(databasePool + 4 × database.router.shards)" "databasePool" .Values.database.router.enabled -}}
{{- $total := 0 -}}
{{- $explanations := list -}}
{{- range $name, $values := dict "conversation" .Values.conversation "quota" .Values.quota "llm-proxy" .Values.llmProxy -}}
{{- if not $values.databaseHost -}}
{{- $connections := include "parley.connections" (dict "name" $name "values" $values "shardPools" $shardPools) | fromJson -}}
{{- $total = add $total (int $connections.count) -}}
{{- $explanations = append $explanations $connections.explanation -}}
{{- end -}}
{{- end -}}
{{- with .Values.database.maxConnections -}}
{{- if gt $total (int .) -}}
{{- fail (printf "the services may open %d database connections during a rollout, and database.maxConnections is %d: %s. Each term is (replicas + surge) × %s. The connections of draining pods are not included. Lower databasePool, replicas or autoscaling.maxReplicas, or raise database.maxConnections and the limit of the server or pooler; see docs/install/sizing.md." $total (int .) (join ", " $explanations) $pools) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails if the NetworkPolicies block Prometheus, or a model provider, proxy, collector or identity provider whose URL is in the values. */}}
{{- define "parley.validate.networkPolicy" -}}
{{- if and (or .Values.podMonitor.enabled .Values.prometheusRule.enabled) (not .Values.networkPolicy.prometheus) -}}
{{- fail "networkPolicy.prometheus is empty, so the network policies block Prometheus and there are no metrics for podMonitor and prometheusRule. Set it to the NetworkPolicy peers of your Prometheus; see docs/install/networks.md." -}}
{{- end -}}
{{- $ssoUrl := ternary .Values.sso.jwksUrl "" (not (empty .Values.sso.roleClaim)) -}}
{{- $own := list
  (dict "list" "sso" "setting" "sso.jwksUrl" "url" $ssoUrl)
  (dict "list" "collector" "setting" "tracing.endpoint" "url" .Values.tracing.endpoint)
  (dict "list" "proxies" "setting" "egressProxy" "url" .Values.egressProxy)
  (dict "list" "proxies" "setting" "llmProxy.providerProxy" "url" .Values.llmProxy.providerProxy) -}}
{{- range $own -}}
{{- if and .url (not (get $.Values.networkPolicy .list)) $.Values.networkPolicy.privateRanges (include "parley.isInternalUrl" .url) -}}
{{- fail (printf "networkPolicy.%s is empty, so conversation and llm-proxy may reach only public addresses there, and not %s (%s). Set it to the NetworkPolicy peers of this host; see docs/install/networks.md." .list .url .setting) -}}
{{- end -}}
{{- end -}}
{{- $urls := dict -}}
{{- if .Values.llmProxy.config -}}
{{- range $name, $provider := .Values.llmProxy.config.providers -}}
{{- $_ := set $urls (printf "llmProxy.config.providers.%s.base_url" $name) $provider.base_url -}}
{{- end -}}
{{- else if not .Values.llmProxy.existingConfigMap -}}
{{- $_ := set $urls "llmProxy.openaiBaseUrl" .Values.llmProxy.openaiBaseUrl -}}
{{- with .Values.llmProxy.ollamaHost -}}
{{- /* The llm-proxy adds the scheme and the port in the same way. */ -}}
{{- $url := printf "http://%s" (regexReplaceAll `^([^/:]+|\[[^\]]*\])(/|$)` . "${1}:11434${2}") -}}
{{- $_ := set $urls "llmProxy.ollamaHost" (ternary . $url (contains "://" .)) -}}
{{- end -}}
{{- end -}}
{{- range $name, $url := $urls -}}
{{- if and $url (not (include "parley.reachesProvider" (dict "root" $ "url" $url))) -}}
{{- fail (printf "the network policies block the provider %s (%s): by default, only port 443 of public addresses is open. Add a rule to networkPolicy.providers; see docs/install/networks.md." $url $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Returns "true" if the llm-proxy's NetworkPolicy may permit a URL: (dict "root" $ "url" …). Checks the ports of the rules, but not their peers.
- For a public host, a rule of networkPolicy.providers or networkPolicy.extraEgress must permit the URL's port, unless the port is 443.
- For a host in the cluster or a private network, any TCP rule of networkPolicy.providers suffices: a policy applies to the pod's port, which may
  differ from the Service's port in the URL. A rule of networkPolicy.extraEgress suffices only if it permits the URL's port, because it may be
  meant for another peer.
  With an empty networkPolicy.privateRanges, port 443 needs no rule.
- A loopback address needs no rule. If llmProxy.providerProxy is set, an https URL needs no rule.
*/}}
{{- define "parley.reachesProvider" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- $port := include "parley.urlPort" .url | int -}}
{{- $host := regexReplaceAll ":[0-9]+$" (urlParse .url).host "" | trimAll "[]" -}}
{{- $extraRules := get $policy.extraEgress "llmProxy" | default list -}}
{{- $hasRule := or (include "parley.permitsPort" (dict "rules" $policy.providers "port" $port)) (include "parley.permitsPort" (dict "rules" $extraRules "port" $port)) -}}
{{- if and .root.Values.llmProxy.providerProxy (hasPrefix "https:" .url) -}}
true
{{- else if regexMatch "^(localhost|127[.].*|0[.]0[.]0[.]0|::1)$" $host -}}
true
{{- else if include "parley.isInternalUrl" .url -}}
{{- /* A Service's port may differ from its pods' port, which the rule names. */}}
{{- $isService := or (hasSuffix ".cluster.local" $host) (not (regexMatch `[.](local|internal|intranet|lan|corp|home[.]arpa)$` $host)) -}}
{{- $hasServiceRule := and $isService (include "parley.permitsPort" (dict "rules" $policy.providers "port" 0)) -}}
{{- if or $hasRule $hasServiceRule (and (not $policy.privateRanges) (eq $port 443)) }}true{{ end -}}
{{- else if or $hasRule (eq $port 443) -}}
true
{{- end -}}
{{- end -}}

{{/*
Returns a non-empty string if one of the egress rules permits a TCP port: (dict "rules" … "port" …). With port 0, any TCP rule
counts. A rule with a port name or without ports counts for every port.
*/}}
{{- define "parley.permitsPort" -}}
{{- $port := int .port -}}
{{- range .rules -}}
{{- range .ports | default (list dict) -}}
{{- if eq (.protocol | default "TCP") "TCP" -}}
{{- if or (eq $port 0) (not .port) (kindIs "string" .port) }}true
{{- else if and (ge $port (int .port)) (le $port (int (default .port .endPort))) }}true
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
