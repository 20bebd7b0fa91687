import type { Model } from "@kubernetes-models/base";
import { Certificate } from "@kubernetes-models/cert-manager/cert-manager.io/v1/Certificate";
import { HTTPRoute } from "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute";
import { PodMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler";
import { Job } from "kubernetes-models/batch/v1/Job";
import { Ingress } from "kubernetes-models/networking.k8s.io/v1/Ingress";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { Role } from "kubernetes-models/rbac.authorization.k8s.io/v1/Role";
import { RoleBinding } from "kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Pod } from "kubernetes-models/v1/Pod";
import { Service } from "kubernetes-models/v1/Service";
import { ServiceAccount } from "kubernetes-models/v1/ServiceAccount";

type KnownKind = {
  /** Class whose `validate` checks a document of this kind. */
  model: new (
    data: never,
  ) => Model<unknown>;
  /** Module that exports the kind's TypeScript type. */
  module: string;
};

/** Every kind that the chart may render, by `apiVersion/kind`. */
export const KNOWN_KINDS: Readonly<Record<string, KnownKind>> = {
  "apps/v1/Deployment": { model: Deployment, module: "kubernetes-models/apps/v1/Deployment" },
  "autoscaling/v2/HorizontalPodAutoscaler": {
    model: HorizontalPodAutoscaler,
    module: "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler",
  },
  "batch/v1/Job": { model: Job, module: "kubernetes-models/batch/v1/Job" },
  "cert-manager.io/v1/Certificate": {
    model: Certificate,
    module: "@kubernetes-models/cert-manager/cert-manager.io/v1/Certificate",
  },
  "gateway.networking.k8s.io/v1/HTTPRoute": {
    model: HTTPRoute,
    module: "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute",
  },
  "monitoring.coreos.com/v1/PodMonitor": {
    model: PodMonitor,
    module: "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor",
  },
  "monitoring.coreos.com/v1/PrometheusRule": {
    model: PrometheusRule,
    module: "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule",
  },
  "networking.k8s.io/v1/Ingress": { model: Ingress, module: "kubernetes-models/networking.k8s.io/v1/Ingress" },
  "networking.k8s.io/v1/NetworkPolicy": {
    model: NetworkPolicy,
    module: "kubernetes-models/networking.k8s.io/v1/NetworkPolicy",
  },
  "policy/v1/PodDisruptionBudget": {
    model: PodDisruptionBudget,
    module: "kubernetes-models/policy/v1/PodDisruptionBudget",
  },
  "rbac.authorization.k8s.io/v1/Role": { model: Role, module: "kubernetes-models/rbac.authorization.k8s.io/v1/Role" },
  "rbac.authorization.k8s.io/v1/RoleBinding": {
    model: RoleBinding,
    module: "kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding",
  },
  "v1/ConfigMap": { model: ConfigMap, module: "kubernetes-models/v1/ConfigMap" },
  "v1/Pod": { model: Pod, module: "kubernetes-models/v1/Pod" },
  "v1/Service": { model: Service, module: "kubernetes-models/v1/Service" },
  "v1/ServiceAccount": { model: ServiceAccount, module: "kubernetes-models/v1/ServiceAccount" },
};
