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
    {{- include "parley.toCollector" . | nindent 4 }}
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

{{/*
Egress to the port of a URL, at `peers`: (dict "root" … "name" … "peers" … "url" …). Without peers, to this port of any address, or of public
addresses if the component requests the URLs of users.
*/}}
{{- define "parley.toUrl" -}}
{{- $peers := .peers -}}
{{- if and (not $peers) (has .name (list "conversation" "llm-proxy")) -}}
{{- $peers = include "parley.publicPeers" .root | fromYamlArray -}}
{{- end -}}
{{ include "parley.toPeers" (dict "peers" $peers "port" (include "parley.urlPort" .url)) }}
{{- end -}}

{{/* The public addresses: those that packages/service-kit/src/egress/policy.ts permits, and ISATAP addresses, for which there is no CIDR. */}}
{{- define "parley.publicPeers" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    {{- with .Values.networkPolicy.privateRanges }}
    except:
      {{- toYaml . | nindent 6 }}
    {{- end }}
- ipBlock:
    cidr: 2000::/3
    except: ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"]
{{- end -}}

{{/* Returns "true" if a URL's host is a name in the cluster or in a private network, or an address that is not public. */}}
{{- define "parley.isInternalUrl" -}}
{{- $host := regexReplaceAll ":[0-9]+$" (urlParse .).host "" | trimAll "[]" | lower -}}
{{- $names := `^[^.:]+$|[.](svc|local|internal|intranet|lan|corp|home[.]arpa)[.]?$|[.]svc[.]` -}}
{{- $v4 := `^(0|10|127|22[4-9]|23[0-9]|24[0-9]|25[0-5])[.]|^100[.](6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])[.]|^168[.]63[.]129[.]16$|^169[.]254[.]|^172[.](1[6-9]|2[0-9]|3[01])[.]|^192[.](0[.]0|0[.]2|31[.]196|52[.]193|88[.]99|168|175[.]48)[.]|^198[.](1[89]|51[.]100)[.]|^203[.]0[.]113[.]` -}}
{{- $v6 := `^[014-9a-f][0-9a-f]{0,3}:|^:|^2001:db8:` -}}
{{- if regexMatch (join "|" (list $names $v4 $v6)) $host }}true{{ end -}}
{{- end -}}

{{/* The port of a URL, or its scheme's default port. */}}
{{- define "parley.urlPort" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "80" "443" (eq $url.scheme "http")) -}}
{{- end -}}

{{- define "parley.toCollector" -}}
{{ include "parley.toUrl" (dict "root" .root "name" .name "peers" .root.Values.networkPolicy.collector "url" .root.Values.tracing.endpoint) }}
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
{{ include "parley.toPeers" (dict "peers" .Values.networkPolicy.database "port" (include "parley.databasePort" .)) }}
{{- end -}}
{{- end -}}

{{/*
Egress to the internet: (dict "root" … "name" … "proxies" …). "proxies" is a list of proxy URLs, one for each kind of connection that the component
opens. A kind without a proxy has "".
*/}}
{{- define "parley.toInternet" -}}
{{- if has "" .proxies -}}
{{ include "parley.toPeers" (dict "peers" (include "parley.publicPeers" .root | fromYamlArray) "port" 443) }}
{{- end }}
{{- range without .proxies "" | uniq }}
{{ include "parley.toUrl" (dict "root" $.root "name" $.name "peers" $.root.Values.networkPolicy.proxies "url" .) }}
{{- end }}
{{- end -}}

{{- define "parley.toSso" -}}
{{ include "parley.toUrl" (dict "root" .root "name" .name "peers" .root.Values.networkPolicy.sso "url" (include "parley.sso" .root | fromJson).jwksUrl) }}
{{- end -}}

{{/* Egress to the identity provider, for a component with admin services. Empty without `sso.roleClaim`: see "parley.adminSsoEnv". */}}
{{- define "parley.adminToSso" -}}
{{- if .root.Values.sso.roleClaim }}
{{ include "parley.toSso" . }}
{{- end }}
{{- end -}}
