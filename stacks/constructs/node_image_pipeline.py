"""One EC2 Image Builder pipeline: the node image of one Slurm version. It builds when it is told to, never by itself."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_imagebuilder as imagebuilder
from constructs import Construct

from stacks.constructs.logical_id import fix_logical_id
from stacks.domain.names import NODE_IMAGE_REFERENCE_TAG, NODE_IMAGE_TAG, SLURM_VERSION_TAG
from stacks.domain.node_image_plan import NodeImagePlan
from stacks.domain.render.node_image import node_image_components, recipe_name, recipe_version

OPERATING_SYSTEM = "Ubuntu 24"
TEST_MINUTES_MAX = 60


class NodeImagePipeline(Construct):
    """Components and recipes never change: a version that follows from their content makes a new one of every change."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: str,
        image: NodeImagePlan,
        infrastructure: imagebuilder.CfnInfrastructureConfiguration,
        log_group_name: str,
        tags: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self._environment, self._image = environment, image
        self._name = recipe_name(environment, image.slurm_version)
        self._suffix = image.slurm_version.replace(".", "")
        self._version = recipe_version(image, cdk.Stack.of(self).region)
        self._tags = dict(tags)
        recipe = self._recipe()
        distribution = self._distribution()
        self.pipeline = imagebuilder.CfnImagePipeline(
            self,
            "Pipeline",
            name=self._name,
            description=f"neuronkit: node image with Slurm {image.slurm_version}",
            image_recipe_arn=recipe.attr_arn,
            infrastructure_configuration_arn=infrastructure.attr_arn,
            distribution_configuration_arn=distribution.attr_arn,
            image_tests_configuration=imagebuilder.CfnImagePipeline.ImageTestsConfigurationProperty(
                image_tests_enabled=True, timeout_minutes=TEST_MINUTES_MAX
            ),
            # It would run a collector of package lists on the machine that the image is made of.
            enhanced_image_metadata_enabled=False,
            logging_configuration=imagebuilder.CfnImagePipeline.PipelineLoggingConfigurationProperty(
                image_log_group_name=log_group_name, pipeline_log_group_name=log_group_name
            ),
            status="ENABLED",
        )
        fix_logical_id(self.pipeline, f"Pipeline{self._suffix}")

    def _recipe(self) -> imagebuilder.CfnImageRecipe:
        recipe = imagebuilder.CfnImageRecipe(
            self,
            "Recipe",
            name=self._name,
            version=self._version,
            parent_image=self._image.parent.id,
            components=[
                imagebuilder.CfnImageRecipe.ComponentConfigurationProperty(component_arn=component.attr_arn)
                for component in self._components()
            ],
            block_device_mappings=[self._root_volume()],
            additional_instance_configuration=imagebuilder.CfnImageRecipe.AdditionalInstanceConfigurationProperty(
                # Logs and commands of the nodes go through it.
                systems_manager_agent=imagebuilder.CfnImageRecipe.SystemsManagerAgentProperty(
                    uninstall_after_build=False
                )
            ),
        )
        fix_logical_id(recipe, f"Recipe{self._suffix}")
        return recipe

    def _components(self) -> list[imagebuilder.CfnComponent]:
        made = []
        for content in node_image_components(self._image, cdk.Stack.of(self).region):
            component = imagebuilder.CfnComponent(
                self,
                f"Component-{content.name}",
                name=f"{self._name}-{content.name}",
                version=content.version,
                description=content.description,
                platform="Linux",
                supported_os_versions=[OPERATING_SYSTEM],
                data=content.document,
            )
            words = "".join(word.capitalize() for word in content.name.split("-"))
            fix_logical_id(component, f"Component{words}{self._suffix}")
            made.append(component)
        return made

    def _root_volume(self) -> imagebuilder.CfnImageRecipe.InstanceBlockDeviceMappingProperty:
        return imagebuilder.CfnImageRecipe.InstanceBlockDeviceMappingProperty(
            device_name=self._image.parent.root_device_name,
            ebs=imagebuilder.CfnImageRecipe.EbsInstanceBlockDeviceSpecificationProperty(
                volume_size=self._image.root_volume_gib,
                volume_type="gp3",
                encrypted=True,
                delete_on_termination=True,
            ),
        )

    def _distribution(self) -> imagebuilder.CfnDistributionConfiguration:
        tags = {
            **self._tags,
            "Name": self._name,
            NODE_IMAGE_TAG: self._version,
            NODE_IMAGE_REFERENCE_TAG: self._image.reference,
            SLURM_VERSION_TAG: self._image.slurm_version,
        }
        distribution = imagebuilder.CfnDistributionConfiguration(
            self,
            "Distribution",
            name=self._name,
            distributions=[
                imagebuilder.CfnDistributionConfiguration.DistributionProperty(
                    region=cdk.Stack.of(self).region,
                    # CloudFormation's own spelling, because the CDK does not translate what is in here.
                    ami_distribution_configuration={
                        "Name": f"{self._name}-{self._version} {{{{ imagebuilder:buildDate }}}}",
                        "Description": f"neuronkit environment {self._environment}: Slurm {self._image.slurm_version} "
                        f"on {self._image.parent.id}",
                        "AmiTags": tags,
                    },
                )
            ],
        )
        fix_logical_id(distribution, f"Distribution{self._suffix}")
        return distribution
