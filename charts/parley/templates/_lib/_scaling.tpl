{{/* Additional pods of a Deployment during a rollout, as a percentage of its replicas. */}}
{{- define "parley.maxSurgePercent" -}}25{{- end -}}

{{/* The maximum number of a component's replicas, except during a rollout. Expects the component's values. */}}
{{- define "parley.maxReplicas" -}}
{{- if .autoscaling.enabled }}{{ max .autoscaling.minReplicas .autoscaling.maxReplicas }}{{ else }}{{ .replicas }}{{ end -}}
{{- end -}}

{{/* The number of a component's replicas below which one is missing. Expects the component's values. */}}
{{- define "parley.minReplicas" -}}
{{- ternary .autoscaling.minReplicas .replicas .autoscaling.enabled -}}
{{- end -}}

{{/*
The database connections that a service may open: the pools of all replicas, including the replicas that a rollout adds. "shardPools" is the sum of
a replica's pools for single shards. Expects a component's name and values. Returns the number and its explanation as JSON, such as
{"count": 30, "explanation": "quota (2 + 1) × 10"}.
*/}}
{{- define "parley.connections" -}}
{{- $replicas := include "parley.maxReplicas" .values | int -}}
{{- $surge := divf (mul $replicas (include "parley.maxSurgePercent" . | int)) 100 | ceil | int -}}
{{- $count := mul (add $replicas $surge) (add .values.databasePool .shardPools) -}}
{{- $pools := ternary (printf "(%d + %d)" (int .values.databasePool) (int .shardPools)) (toString (int .values.databasePool)) (gt (int .shardPools) 0) -}}
{{- dict "count" $count "explanation" (printf "%s (%d + %d) × %s" .name $replicas $surge $pools) | toJson -}}
{{- end -}}

{{/*
Returns spec.replicas of a Deployment, or nothing if Helm must not send the field.

If Helm stops sending spec.replicas, Kubernetes sets it to 1 and stops all pods but one before the autoscaler starts new ones. So the upgrade
that turns autoscaling on sends the live number. The upgrade that turns autoscaling off also sends the live number if the autoscaler has
changed it. The next upgrade sends the value `replicas`.
`helm template`, which Argo CD uses, cannot read the cluster: see docs/install/upgrades.md.

Once the autoscaler has changed the number, it owns the field. With server-side apply, Kubernetes then keeps the field if Helm does not send
it. If Helm sent it, a change by the autoscaler during the upgrade would be a conflict. Without server-side apply (operation Update: Helm 3
and releases installed by it), Kubernetes resets a field that the last revision had and the new one omits. A template cannot read the last
revision, so each upgrade then sends the live number.
*/}}
{{- define "parley.replicas" -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $name := include "parley.name" . -}}
{{- $deployment := lookup "apps/v1" "Deployment" $namespace $name -}}
{{- $live := dig "spec" "replicas" 0 $deployment | int -}}
{{- /* Helm's managedFields entry is the one with the selector. Its manager name depends on the tool that runs Helm. */ -}}
{{- $helm := dict -}}
{{- $othersOwn := false -}}
{{- range dig "metadata" "managedFields" list $deployment -}}
  {{- $fields := dig "fieldsV1" "f:spec" dict . -}}
  {{- if hasKey $fields "f:selector" -}}
    {{- $helm = . -}}
  {{- else if hasKey $fields "f:replicas" -}}
    {{- $othersOwn = true -}}
  {{- end -}}
{{- end -}}
{{- $onlyHelmOwns := and (not $othersOwn) (hasKey (dig "fieldsV1" "f:spec" dict $helm) "f:replicas") -}}
{{- if .values.autoscaling.enabled -}}
  {{- /* If the Deployment has 0 replicas, the upgrade sends minReplicas, because a HorizontalPodAutoscaler ignores such a Deployment. */ -}}
  {{- $isFieldKept := and $live (not $onlyHelmOwns) (eq (dig "operation" "" $helm) "Apply") -}}
  {{- if and $deployment (not $isFieldKept) -}}
    {{ $live | default .values.autoscaling.minReplicas }}
  {{- end -}}
{{- else if and $live (not $onlyHelmOwns) (lookup "autoscaling/v2" "HorizontalPodAutoscaler" $namespace $name) -}}
  {{ $live }}
{{- else -}}
  {{ .values.replicas }}
{{- end -}}
{{- end -}}

{{/* A terminating pod drains its streams for minutes, so scale down slowly. */}}
{{- define "parley.scalingBehavior" -}}
scaleDown:
  stabilizationWindowSeconds: 600
  policies:
    - type: Pods
      value: 1
      periodSeconds: 120
{{- end -}}

{{- define "parley.autoscaler" -}}
{{- if and .values.autoscaling.enabled .values.autoscaling.kedaTriggers -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ include "parley.name" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
  annotations:
    # Lets KEDA take over the chart's HorizontalPodAutoscaler, which Helm deletes only after it has created the ScaledObject. Without this
    # annotation KEDA refuses a Deployment that has a HorizontalPodAutoscaler.
    scaledobject.keda.sh/transfer-hpa-ownership: "true"
spec:
  scaleTargetRef:
    name: {{ include "parley.name" . }}
  minReplicaCount: {{ .values.autoscaling.minReplicas }}
  maxReplicaCount: {{ .values.autoscaling.maxReplicas }}
  advanced:
    horizontalPodAutoscalerConfig:
      # KEDA's HorizontalPodAutoscaler gets the name of the chart's HorizontalPodAutoscaler, because the alerts and "parley.replicas" look for
      # this name.
      name: {{ include "parley.name" . }}
      behavior:
        {{- include "parley.scalingBehavior" . | nindent 8 }}
  triggers:
    - type: cpu
      metricType: Utilization
      metadata:
        value: {{ .values.autoscaling.cpuUtilization | quote }}
    {{- toYaml .values.autoscaling.kedaTriggers | nindent 4 }}
{{- else if .values.autoscaling.enabled -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "parley.name" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "parley.name" . }}
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .values.autoscaling.cpuUtilization }}
    {{- if .values.autoscaling.streamsPerPod }}
    - type: Pods
      pods:
        metric:
          name: parley_streams_open
        target:
          type: AverageValue
          averageValue: {{ .values.autoscaling.streamsPerPod | quote }}
    {{- end }}
  behavior:
    {{- include "parley.scalingBehavior" . | nindent 4 }}
{{- end }}
{{- end -}}

{{- define "parley.disruptionBudget" -}}
{{- $replicas := include "parley.minReplicas" .values | int -}}
{{- if and .values.podDisruptionBudget.enabled (gt $replicas 1) -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "parley.name" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "parley.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end -}}
