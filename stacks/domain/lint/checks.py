"""What lint looks for, as data. Where the plan has a rule for the same fault, lint reports it by the rule's id."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.domain.environment.source import FORMAT_SOURCE
from stacks.domain.findings import Severity
from stacks.domain.rules import ALL_RULES

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


@dataclass(frozen=True, slots=True)
class Check:
    id: str
    severity: Severity
    title: str
    why: str
    source: str


EFA_TYPES = "EC2 user guide, efa-acc-inst-types"
EFA_DATA = "EC2 DescribeInstanceTypes (NetworkInfo.EfaInfo), captured about 2026-10-01 (moto 5.2.5)"
EFA_GROUP = "EC2 user guide, efa-start#efa-start-security; gardener-extension-provider-aws issue 1832"
NIC_MODEL = "botocore 1.44.8 ec2 LaunchTemplateInstanceNetworkInterfaceSpecificationRequest"
BLOCKS = "EC2 user guide, capacity-blocks-using; eksctl issues 8320, 8155"
EKS_SAMPLE = "aws-neuron-eks-samples@cecff9e dp_bert_hf_pretrain/cfn/eks_trn2_ng_stack_al2023.yaml"
BATCH_MNP = "AWS Batch user guide, mnp-ce and the multi-node pages"
BATCH_EFA = "AWS Batch user guide, efa"
BATCH_TEMPLATES = "AWS Batch user guide, launch-templates"
NEURON_K8S = "aws-neuron-sdk@81ce03ae deploy/eks; aws-neuron-sdk issues 1163, 1300"
SLURM = "Slurm documentation, srun and sbatch; aws-neuron-sdk@81ce03ae neuron-runtime/guides/configuration-guide.rst"

# The plan's rules that lint can ask of other files.
RULES_SHARED = (
    "NK204", "NK206", "NK214", "NK215", "NK218", "NK222", "NK232", "NK233", "NK243", "NK244", "NK247", "NK250",
)  # fmt: skip

OWN = (
    Check("NK003", ERROR, "cannot be read", "nothing can be said of it", FORMAT_SOURCE),
    Check("NK004", ERROR, "too large", "CloudFormation takes at most 1 MB, and so does lint", "AWS CloudFormation quotas"),
    Check("NK005", ERROR, "not UTF-8 text", "tools read other text differently, or not at all", FORMAT_SOURCE),
    Check("NK006", ERROR, "empty", "nothing would be made", FORMAT_SOURCE),
    Check("NK007", ERROR, "not YAML", "nothing would be made", FORMAT_SOURCE),
    Check("NK008", ERROR, "nested too deeply, or too many values (aliases count each time)", "no such file is meant", FORMAT_SOURCE),
    Check("NK009", ERROR, "a key twice", "one of the two is ignored, silently", FORMAT_SOURCE),
    Check("NK401", ERROR, "no file of a known kind", "a file that was named was meant to be looked at", "README, `neuronkit lint`"),
    Check("NK402", INFO, "depends on a condition", "of Fn::If only the branch that the defaults choose was looked at", "AWS CloudFormation user guide, conditions"),
    Check("NK410", ERROR, "wrong number of EFA interfaces", "cards that are not declared are paid for and idle; too many refuse the launch", f"{EFA_DATA}; eksctl issue 8685"),
    Check("NK411", ERROR, "wrong DeviceIndex", "it counts on each card from 0, not over the instance", f"{EFA_TYPES}; aws-k8s-tester issues 531, 526"),
    Check("NK412", ERROR, "network card that cannot hold the interface", "the launch is refused", EFA_DATA),
    Check("NK413", WARNING, "DeleteOnTermination missing", "interfaces outlive their node and keep subnet and group", "aws-k8s-tester issue 526"),
    Check("NK414", ERROR, "SubnetId on an interface", "the subnet belongs to the node group or compute environment", "aws-efa-eks issue 19"),
    Check("NK415", ERROR, "security groups beside network interfaces", "the two exclude each other", "aws-cdk issue 21577; botocore ec2 RequestLaunchTemplateData"),
    Check("NK416", ERROR, "public address with several interfaces", "EC2 gives one to a single interface only", NIC_MODEL),
    Check("NK417", ERROR, "no usable primary interface", "the primary is card 0, device 0 and carries the addresses", f"{NIC_MODEL}; {EFA_TYPES}"),
    Check("NK418", INFO, "an address for every card", "`efa-only` takes none; large clusters exhaust their subnet", "terraform-aws-eks issue 3653"),
    Check("NK419", WARNING, "no EFA interface on a type with several", "several nodes would talk over plain TCP, silently", "SkyPilot sky/clouds/aws.py:82"),
    Check("NK420", ERROR, "security group does not reference itself", "EFA is not IP: 0.0.0.0/0 does not let it through", EFA_GROUP),
    Check("NK421", ERROR, "no port", "ports end at 65535", EKS_SAMPLE),
    Check("NK422", WARNING, "SSH from everywhere", "nodes with accelerators are looked for", EKS_SAMPLE),
    Check("NK423", INFO, "placement group whatever the capacity", "reserved capacity outside the group never starts, once a block or reservation is used", "eksctl issue 7949; " + EKS_SAMPLE),
    Check("NK424", ERROR, "capacity block without MarketType", "nodes start on demand, or never, beside a paid block", BLOCKS),
    Check("NK425", INFO, "reservation without MarketType", "right for an on-demand reservation; a block needs MarketType capacity-block", BLOCKS),
    Check("NK426", ERROR, "no capacity reservation id", "an id that is empty, or no cr-…, is refused when nodes start", "modelplane issue 184; awsome-distributed-ai PR 334"),
    Check("NK427", ERROR, "capacity block without its id", "EC2 needs MarketType and the reservation", BLOCKS),
    Check("NK428", ERROR, "node group and template differ on capacity", "both have to name the block", "amazon-eks-user-guide@4d52b4d latest/ug/ml/capacity-blocks-mng.adoc"),
    Check("NK430", WARNING, "IMDSv2 not required", "any process that can be made to fetch a page gets the node's credentials", EKS_SAMPLE),
    Check("NK431", WARNING, "volume not encrypted", "weights and data rest on it", "AWS Foundational Security Best Practices, EC2.3"),
    Check("NK432", WARNING, "download without a version", "what was tested is not what runs", "awsome-distributed-ai issue 448; " + EKS_SAMPLE),
    Check("NK433", INFO, "AMI that changes by itself", "its driver may stop starting the images", "aws-neuron-sdk@81ce03ae release-notes/components/runtime.rst:329"),
    Check("NK434", ERROR, "user data is not MIME multipart", "EKS and Batch merge it with their own, and refuse or ignore anything else", f"{BATCH_TEMPLATES}; aws-cdk issue 6427"),
    Check("NK435", ERROR, "user data of another AMI family", "nodes never join", "terraform-aws-eks issues 2954, 3186; pulumi-eks issue 1515"),
    Check("NK436", ERROR, "AMI without Neuron", "nodes join without chips", "terraform-aws-eks issue 2060; aws-cdk issue 35914; botocore eks AMITypes"),
    Check("NK437", ERROR, "user data too long", "EC2 takes 16 KiB", "EC2 user guide, user-data"),
    Check("NK440", WARNING, "variable that is never set", "an empty word in its place: neither the shell nor envsubst complains", "awsome-distributed-ai PR 413; ai-on-eks infra/base/terraform/cleanup.sh:91"),
    Check("NK441", ERROR, "script that cannot start", "the kernel and cloud-init look at its first bytes", "cloud-init documentation, user-data formats"),
    Check("NK442", WARNING, "variable set twice", "the first value is ignored, silently", "awsome-distributed-ai PR 413"),
    Check("NK443", WARNING, "variable of GPU software", "Neuron ignores it: the file was made for another chip", "awsome-distributed-ai PR 413"),
    Check("NK450", ERROR, "resource that no longer exists", "the pod stays Pending for ever", "torchx specs/named_resources_aws.py:40; aws-neuron-sdk@81ce03ae (removed after 2.19)"),
    Check("NK451", ERROR, "chips and cores in one pod", "one pod asks for neuron or for neuroncore", NEURON_K8S),
    Check("NK452", ERROR, "a number of chips or cores that is never given", "only certain groups of neighbours are connected", f"{NEURON_K8S}; optimum-neuron issue 619"),
    Check("NK453", ERROR, "request without an equal limit", "Kubernetes refuses it for extended resources", "Kubernetes documentation, extended resources"),
    Check("NK454", WARNING, "scheduler that nothing here installs", "the pod stays Pending for ever", "aws-neuron-sdk issues 1163, 1300, 796, 392"),
    Check("NK455", WARNING, "list of instance types that is not complete", "nodes of the missing types get no pod, and show 0 chips", "sagemaker-hyperpod-cli issues 444, 42; eksctl neuron-device-plugin.yaml"),
    Check("NK456", ERROR, "workers do not fill UltraServers", "the init script aborts the job", "aws-neuron-sdk@81ce03ae src/k8/k8s-ultraserver-init-script.sh"),
    Check("NK457", WARNING, "number of nodes said twice, differently", "the job waits for nodes that nobody starts", "awsome-distributed-ai PR 413"),
    Check("NK458", WARNING, "label that no node here has", "the pod stays Pending for ever", "ai-on-eks issue 112; ray issue 44361"),
    Check("NK470", ERROR, "wrong number of Neuron devices", "a multi-node job has its nodes whole; what is not mapped is paid for and idle", "metaflow PR 1656; issues 2692, 1217"),
    Check("NK471", ERROR, "wrong number of EFA devices", "the job runs over TCP, or not at all", f"{BATCH_EFA}; metaflow issue 3086"),
    Check("NK472", ERROR, "more memory than a container can have", "the job stays RUNNABLE for ever", "torchx issue 795"),
    Check("NK473", ERROR, "node ranges do not cover the nodes", "Batch refuses the definition", BATCH_MNP),
    Check("NK474", ERROR, "no unlimited locked memory", "EFA and the runtime register memory", f"{BATCH_EFA}; metaflow issue 2692"),
    Check("NK475", WARNING, "no shared memory", "Docker gives 64 MiB; processes of one node talk through it", "metaflow issue 1217"),
    Check("NK476", ERROR, "more than Batch takes", "at most five node ranges, all of one instance type", BATCH_MNP),
    Check("NK477", ERROR, "device mapped wrongly", "EFA needs the same path in host and container", BATCH_EFA),
    Check("NK478", ERROR, "multi-node job on a compute environment that cannot run it", "it has to be MANAGED, and not Fargate", BATCH_MNP),
    Check("NK479", ERROR, "more vCPUs than the type has", "the job stays RUNNABLE for ever", "EC2 DescribeInstanceTypes, captured about 2026-10-01 (moto 5.2.5)"),
    Check("NK480", INFO, "template version that Batch does not follow", "a changed template is picked up only with an explicit version", "aws-cdk issues 16793, 28137"),
    Check("NK490", ERROR, "gres in the wrong unit", "chips, physical and logical cores are three units", "trainium-course-cluster slurm/slurm.conf.d/neuroncore-gres.conf.template"),
    Check("NK491", WARNING, "--cpus-per-task does not reach srun", "since Slurm 22.05 each task gets one CPU", SLURM),
    Check("NK492", ERROR, "nodes and tasks do not multiply", "tasks are missing, or share cores", SLURM),
    Check("NK493", WARNING, "no rendezvous for the runtime", "collectives over several nodes need NEURON_RT_ROOT_COMM_ID (torch-neuronx takes MASTER_ADDR)", SLURM),
)  # fmt: skip

CHECKS: dict[str, Check] = {
    **{
        rule.id: Check(rule.id, rule.severity, rule.title, rule.why, rule.source)
        for rule in ALL_RULES
        if rule.id in RULES_SHARED
    },
    **{check.id: check for check in OWN},
}
