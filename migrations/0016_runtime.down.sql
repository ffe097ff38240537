DROP TABLE dag_structure;
DROP TABLE runtime_shapes;
