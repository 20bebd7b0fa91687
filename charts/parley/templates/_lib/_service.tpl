{{/* A headless Service, whose name resolves to every ready pod, so that gRPC clients can balance calls across the pods. Expects "ports", a list of port names. */}}
{{- define "parley.headlessService" -}}
{{- $ports := include "parley.ports" .name | fromJson -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ default (include "parley.name" .) .serviceName }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
spec:
  clusterIP: None
  selector:
    {{- include "parley.selectorLabels" . | nindent 4 }}
  ports:
    {{- range .ports }}
    - name: {{ . }}
      port: {{ get $ports . }}
      targetPort: {{ . }}
      {{- if eq . "grpc" }}
      appProtocol: kubernetes.io/h2c
      {{- end }}
    {{- end }}
{{- end -}}

{{/* A Service with one constant address. gRPC clients also connect to it, because cached DNS answers for the headless Service may name only pods that are gone. */}}
{{- define "parley.clusterIpService" -}}
{{- $ports := include "parley.ports" .name | fromJson -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "parley.clusterIpName" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
spec:
  type: ClusterIP
  selector:
    {{- include "parley.selectorLabels" . | nindent 4 }}
  ports:
    - name: grpc
      port: {{ $ports.grpc }}
      targetPort: grpc
      appProtocol: kubernetes.io/h2c
    - name: ops
      port: {{ $ports.ops }}
      targetPort: ops
{{- end -}}

{{- define "parley.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "parley.name" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
  {{- with .values.serviceAccountAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}
